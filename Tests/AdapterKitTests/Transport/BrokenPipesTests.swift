#if os(Linux)
    import Glibc
    import Testing

    @testable import AdapterKit

    @Suite("Broken pipes")
    struct BrokenPipesTests {
        private func isBlocked() -> Bool {
            var signals = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &signals)
            return sigismember(&signals, SIGPIPE) == 1
        }

        @Test("a signal raised meanwhile is discarded, and the thread's mask is as before")
        func discarded() {
            let before = isBlocked()
            let during = BrokenPipes.ignored(if: true) {
                raise(SIGPIPE)
                return isBlocked()
            }
            #expect(during)
            #expect(isBlocked() == before)
            #expect(BrokenPipes.ignored(if: false, isBlocked) == before)
        }
    }
#endif
