/* SPDX-License-Identifier: Apache-2.0 */
/* bad_manifest.c - its manifest is no JSON. */
#define RAW_MANIFEST "{\"id\":"
#include "raw.h"
