#if os(Linux)
    import Experimentation
    import HTTPTypes
    import Synchronization

    /// Identifies a call, and remembers a cancellation that came before the driver knew of the call.
    final class CurlTicket: Sendable {
        let isCancelled = Atomic(false)
        /// Where the loop keeps the call's transfer; guarded by the loop's lock.
        let place = Atomic(-1)
    }

    /// A call on its way to the driver.
    struct CurlExchange: Sendable {
        let ticket: CurlTicket
        let request: HTTPRequest
        var body: [UInt8]
        let limits: HTTPLimits
        /// Takes the response as it arrives; `nil` to collect it.
        var receive: (@Sendable (HTTPPart) -> Void)?
        /// Resumed exactly once, when its transfer is removed; unchecked, because checking allocates.
        let continuation: UnsafeContinuation<CurlEnding, Never>

        func fail(_ error: ExperimentationError) { continuation.resume(returning: .failed(error)) }
    }
#endif
