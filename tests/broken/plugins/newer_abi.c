/* SPDX-License-Identifier: Apache-2.0 */
/* newer_abi.c - its manifest asks for a newer ABI. */
#define RAW_MANIFEST "{\"id\":\"" RAW_ID "\",\"version\":\"1.0.0\",\"abi\":\"1.7\"}"
#include "raw.h"
