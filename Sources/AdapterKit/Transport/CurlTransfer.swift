#if os(Linux)
    import CCurl
    import Experimentation
    import HTTPTypes
    import Synchronization

    /// The caller that waits for an exchange, and what came of it.
    typealias CurlAnswer = (continuation: UnsafeContinuation<CurlEnding, Never>, ending: CurlEnding)

    /// A libcurl handle with its callbacks, reused for one exchange after another.
    ///
    /// It belongs to one thread at a time: to the caller that prepares it, then to the holder of its loop's lock,
    /// then to the thread that takes it out. Its lock is never contended.
    final class CurlTransfer: Sendable {
        nonisolated(unsafe) let handle: UnsafeMutableRawPointer
        private let state: Mutex<State>

        /// Creates a transfer with its own handle; `nil` if libcurl can't create one.
        init?(_ exchange: CurlExchange) {
            guard let handle = curl_easy_init() else { return nil }
            self.handle = handle
            state = Mutex(State(exchange))
        }

        deinit { curl_easy_cleanup(handle) }

        /// The current exchange's ticket.
        var ticket: CurlTicket { state.withLock { $0.exchange.ticket } }

        /// Whether the current exchange may need OpenSSL: for its server, or for a proxy of the environment.
        var isEncrypted: Bool { state.withLock { $0.isEncrypted } }

        /// The transfer that a handle belongs to.
        static func of(_ handle: UnsafeMutableRawPointer) -> CurlTransfer? {
            var context: UnsafeMutablePointer<CChar>?
            _ = ccurl_get_context(handle, CURLINFO_PRIVATE, &context)
            return context.map { from($0) }
        }

        /// Prepares for an exchange; returns `false` if libcurl refuses an option.
        func prepare(_ exchange: CurlExchange, _ configuration: CurlConfiguration) -> Bool {
            state.withLock { state in
                state.clear()
                state.exchange = exchange
                state.isEncrypted = exchange.request.scheme != "http" || configuration.usesEnvironmentProxies
                return state.options.set(exchange, configuration, on: handle, callbacks: setCallbacks)
            }
        }

        private func setCallbacks() -> [CURLcode] {
            let context = Unmanaged.passUnretained(self).toOpaque()
            return [
                ccurl_set_context(handle, CURLOPT_PRIVATE, context),
                ccurl_set_data_callback(handle, CURLOPT_WRITEFUNCTION, Self.receive),
                ccurl_set_context(handle, CURLOPT_WRITEDATA, context),
                ccurl_set_data_callback(handle, CURLOPT_HEADERFUNCTION, Self.receiveHead),
                ccurl_set_context(handle, CURLOPT_HEADERDATA, context),
                ccurl_set_ready_callback(handle, Self.ready, context),
                ccurl_set_data_callback(handle, CURLOPT_READFUNCTION, Self.send),
                ccurl_set_context(handle, CURLOPT_READDATA, context),
            ]
        }

        /// Returns the waiting caller and what came of the exchange, and releases the exchange's resources.
        func end(_ result: CurlResult) -> CurlAnswer {
            var status = 0
            _ = ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
            return state.withLock { state in
                defer { state.clear() }
                switch result {
                case .done(let code): return (state.exchange.continuation, state.ending(code, status: status))
                case .failed(let error): return (state.exchange.continuation, .failed(error))
                }
            }
        }

        // MARK: Callbacks of libcurl

        private static func from(_ context: UnsafeMutableRawPointer) -> CurlTransfer {
            Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
        }

        private static let receive: ccurl_data_callback = { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let part = Lent(bytes: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
            return from(context).state.withLock { $0.take(part) }
        }

        private static let receiveHead: ccurl_data_callback = { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let line = Lent(bytes: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
            let transfer = from(context)
            return transfer.state.withLock { $0.takeHead(line, of: transfer.handle) } ? size * count : 0
        }

        private static let send: ccurl_data_callback = { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let space = Lent(bytes: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
            return from(context).state.withLock { $0.give(space) }
        }

        private static let ready: ccurl_ready_callback = { context, _, _, _, _ in
            guard let context else { return 1 }
            return from(context).state.withLock { state in
                state.attempts += 1
                return state.attempts > 1 ? 1 : 0
            }
        }
    }

    extension CurlTransfer {
        /// libcurl's memory, valid during its call.
        private struct Lent: Sendable {
            nonisolated(unsafe) let bytes: UnsafeMutableRawBufferPointer
        }

        /// What has been sent and received so far.
        private struct State: ~Copyable {
            var exchange: CurlExchange
            var options = CurlOptions()
            var isEncrypted = true
            var attempts = 0
            var head = ResponseHead()
            private var isHeadPassedOn = false
            private var sent = 0
            private var body: [UInt8] = []
            private var received = 0
            private var isTooLarge = false

            init(_ exchange: CurlExchange) { self.exchange = exchange }

            mutating func clear() {
                exchange.body = []
                exchange.receive = nil
                attempts = 0
                head = ResponseHead()
                isHeadPassedOn = false
                sent = 0
                body = []
                received = 0
                isTooLarge = false
            }

            func ending(_ code: CURLcode, status: Int) -> CurlEnding {
                if isTooLarge { return .failed(CurlOutcome.tooLarge(exchange.limits.responseBytes)) }
                if let reason = head.objection { return .failed(CurlOutcome.broken(reason)) }
                if attempts > 1 { return .failed(CurlOutcome.broken("the connection was closed before an answer")) }
                if let error = CurlOutcome.error(code) { return .failed(error) }
                guard head.isComplete else { return .failed(CurlOutcome.broken("the response's head isn't complete")) }
                let arrival = CurlArrival(status: status, head: head, body: body)
                return arrival.isFinal ? .arrived(arrival) : .failed(CurlOutcome.broken("no valid status"))
            }

            /// Takes a line of the head; returns `false` to stop reading the response.
            mutating func takeHead(_ line: Lent, of handle: UnsafeMutableRawPointer) -> Bool {
                guard head.take(UnsafeRawBufferPointer(line.bytes)) else { return false }
                // The lines after a chunked body come here too.
                guard head.isComplete, !isHeadPassedOn, let receive = exchange.receive else { return true }
                var status = 0
                _ = ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
                let arrival = CurlArrival(status: status, head: head, body: [])
                if arrival.isFinal {
                    isHeadPassedOn = true
                    receive(.head(arrival.reply.response))
                }
                return true
            }

            mutating func take(_ part: Lent) -> Int {
                let bytes = part.bytes
                guard bytes.count <= exchange.limits.responseBytes - received else {
                    isTooLarge = true
                    return 0
                }
                received += bytes.count
                if let receive = exchange.receive {
                    receive(.body(Array(bytes)))
                } else {
                    body.append(contentsOf: bytes)
                }
                return bytes.count
            }

            mutating func give(_ space: Lent) -> Int {
                let space = space.bytes
                let part = exchange.body[sent..<min(exchange.body.count, sent + space.count)]
                space.copyBytes(from: part)
                sent += part.count
                return part.count
            }
        }
    }

    /// How a transfer ended: as libcurl says, or before that.
    enum CurlResult {
        case done(CURLcode)
        case failed(ExperimentationError)
    }
#endif
