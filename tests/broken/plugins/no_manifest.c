/* SPDX-License-Identifier: Apache-2.0 */
/* no_manifest.c - a shared library that has nothing to say. */
int agentd_test_answer(void);
int agentd_test_answer(void) { return 42; }
