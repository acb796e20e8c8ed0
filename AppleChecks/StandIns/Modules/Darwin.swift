// The C library under its name on Apple platforms; declarations that only Apple's has are made where they are used.
@_exported import Glibc
