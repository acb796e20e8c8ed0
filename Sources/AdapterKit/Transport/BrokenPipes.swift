#if os(Linux)
    import CCurl
    import Glibc

    /// The signal that a write to a closed connection raises, and that would end the process.
    ///
    /// libcurl asks for none with its own writes, but OpenSSL's can raise it.
    enum BrokenPipes {
        private static var alone: sigset_t {
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            return signals
        }

        /// Keeps the signal from the calling thread for good.
        static func ignore() {
            var signals = alone
            pthread_sigmask(SIG_BLOCK, &signals, nil)
        }

        /// Keeps the signal from the calling thread, which belongs to others, for as long as a body runs.
        static func ignored<Value>(_ body: () -> Value) -> Value {
            var signals = alone
            var before = sigset_t()
            pthread_sigmask(SIG_BLOCK, &signals, &before)
            let value = body()
            if sigismember(&before, SIGPIPE) == 0 {
                // One that was raised meanwhile would come as soon as it may.
                while ccurl_discard_signal(&signals) {}
                pthread_sigmask(SIG_SETMASK, &before, nil)
            }
            return value
        }
    }
#endif
