#if os(Linux)
    import CCurl
    import Experimentation
    import HTTPTypes

    /// The transfers that are under way, and the handles that wait to be used again.
    ///
    /// It lives on the driver's thread.
    struct CurlTransfers {
        private static let handlesKept = 64

        private let multi: UnsafeMutableRawPointer
        private let configuration: CurlTransport.Configuration
        private var running: [ObjectIdentifier: CurlTransfer] = [:]
        private var idle: [UnsafeMutableRawPointer] = []

        init(multi: UnsafeMutableRawPointer, configuration: CurlTransport.Configuration) {
            self.multi = multi
            self.configuration = configuration
        }

        /// Whether nothing is under way.
        var isEmpty: Bool { running.isEmpty }

        /// Begins a transfer.
        mutating func begin(_ exchange: CurlExchange) {
            guard let handle = idle.popLast() ?? curl_easy_init() else {
                let error = ExperimentationError(.transport, "libcurl has no handle left")
                return exchange.continuation.resume(returning: .failure(error))
            }
            let transfer = CurlTransfer(exchange, handle: handle)
            guard transfer.configure(configuration), curl_multi_add_handle(multi, handle) == CURLM_OK else {
                recycle(transfer)
                return transfer.finish(
                    .failure(ExperimentationError(.transport, "libcurl refused the request's options"))
                )
            }
            running[ObjectIdentifier(exchange.ticket)] = transfer
        }

        /// Moves every transfer on as far as it goes without waiting.
        mutating func perform() {
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            var left: Int32 = 0
            while let message = curl_multi_info_read(multi, &left) {
                guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
                let result = ccurl_result(message)
                guard let transfer = CurlTransfer.of(handle) else { continue }
                let outcome = transfer.outcome(result)
                remove(transfer)
                transfer.finish(outcome)
            }
        }

        /// Ends a transfer before its time, if it is still under way.
        mutating func end(_ ticket: CurlTicket, with error: ExperimentationError) {
            guard let transfer = running[ObjectIdentifier(ticket)] else { return }
            remove(transfer)
            transfer.finish(.failure(error))
        }

        /// Ends everything and gives the handles back.
        mutating func endAll(with error: ExperimentationError) {
            for transfer in running.values {
                remove(transfer)
                transfer.finish(.failure(error))
            }
            for handle in idle { curl_easy_cleanup(handle) }
            idle = []
        }

        private mutating func remove(_ transfer: CurlTransfer) {
            curl_multi_remove_handle(multi, transfer.handle)
            running[ObjectIdentifier(transfer.ticket)] = nil
            recycle(transfer)
        }

        private mutating func recycle(_ transfer: CurlTransfer) {
            // A reset forgets the options; connections and looked-up names belong to the multi handle and stay.
            curl_easy_reset(transfer.handle)
            if idle.count < Self.handlesKept {
                idle.append(transfer.handle)
            } else {
                curl_easy_cleanup(transfer.handle)
            }
        }
    }
#endif
