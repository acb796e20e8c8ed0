import Experimentation
import ServiceLifecycle

#if canImport(Glibc)
    import CMalloc
#endif

/// Gives memory that was needed only for reading rules back to the system.
///
/// Parsing a file takes several times the memory of the resulting rules. The C library keeps freed memory for later
/// use, but the next file may be hours away: see `docs/decisions/0213-memory-of-rules.md`.
struct HeapTrimming: Service {
    /// The encoded flags of all tenants at this moment.
    let forms: @Sendable () -> [FlagForms?]
    let time: any TimeSource

    private static let interval = Duration.seconds(1)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var before: [ObjectIdentifier?] = []
            var isDue = false
            while (try? await time.sleep(for: Self.interval)) != nil {
                // Encoding flags is the last step of reading rules. A moment later the old ones have been released.
                if isDue { Self.trim() }
                let now = forms().map { $0.map(ObjectIdentifier.init) }
                isDue = now != before
                before = now
            }
        }
    }

    private static func trim() {
        #if canImport(Glibc)
            _ = malloc_trim(0)
        #endif
    }
}
