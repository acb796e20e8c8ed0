// The command of `fcntl` that keeps a pipe without a reader from raising SIGPIPE; only Apple's C library has it.
let F_SETNOSIGPIPE: Int32 = 73
