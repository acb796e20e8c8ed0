#if os(Linux)
    import CCurl
    import Glibc

    /// Handling of SIGPIPE, which a write to a closed connection raises and which would end the process.
    ///
    /// libcurl suppresses it for its own writes, but OpenSSL's can raise it.
    enum BrokenPipes {
        private static var alone: sigset_t {
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            return signals
        }

        /// Blocks the signal on the calling thread permanently.
        static func ignore() {
            var signals = alone
            pthread_sigmask(SIG_BLOCK, &signals, nil)
        }

        /// Blocks the signal on the calling thread, which belongs to others, while a body runs.
        ///
        /// - Parameters:
        ///   - isPossible: Whether the body can raise it at all; blocking takes three system calls.
        ///   - body: What may raise it.
        /// - Returns: What the body returns.
        static func ignored<Value>(if isPossible: Bool, _ body: () -> Value) -> Value {
            guard isPossible else { return body() }
            var signals = alone
            var before = sigset_t()
            pthread_sigmask(SIG_BLOCK, &signals, &before)
            let value = body()
            if sigismember(&before, SIGPIPE) == 0 {
                // A signal raised meanwhile would be delivered once it is unblocked.
                while ccurl_discard_signal(&signals) {}
                pthread_sigmask(SIG_SETMASK, &before, nil)
            }
            return value
        }
    }
#endif
