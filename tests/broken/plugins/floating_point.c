/* SPDX-License-Identifier: Apache-2.0 */
/* floating_point.c - as -Ofast does, it turns denormal numbers off while it is loaded. */
#if defined(__SSE__)
#include <xmmintrin.h>
__attribute__((constructor)) static void raw_turn_denormals_off(void) { _mm_setcsr(_mm_getcsr() | 0x8040u); }
#endif
#define RAW_ID "org.agentd.test.floating_point"
#include "raw.h"
