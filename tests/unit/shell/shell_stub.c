/* SPDX-License-Identifier: Apache-2.0
 * shell_stub.c - a program without effect: it prints the name of another one, so that a shell which runs its output
 * is found out. */
#include <unistd.h>

int main(void) {
  if (write(1, "delta one\n", 10) != 10) return 0;
  return 0;
}
