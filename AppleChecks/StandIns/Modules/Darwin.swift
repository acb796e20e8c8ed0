// The C library under the name that it has on Apple platforms; what only theirs has is declared where it is used.
@_exported import Glibc
