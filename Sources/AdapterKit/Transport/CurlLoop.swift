#if os(Linux)
    import CCurl
    import Experimentation
    import Synchronization

    /// libcurl's side of the engine: a multi handle with the active transfers.
    ///
    /// It never waits. The holder of its lock drives it: the engine's thread, or a caller that begins a transfer.
    /// libcurl allows any thread, one at a time.
    struct CurlLoop: ~Copyable {
        /// A finished transfer, and what to tell its caller.
        typealias Ending = (transfer: CurlTransfer, answer: CurlAnswer)

        private var multi: UnsafeMutableRawPointer?
        private let sockets: CurlSockets
        private var running = CurlRunning()
        private var ended: [Ending] = []
        private var planned: ContinuousClock.Instant?
        /// Whether OpenSSL has ever been needed: it also writes when a kept connection is closed.
        private(set) var isEncrypted = false

        /// Creates a loop; `nil` if libcurl has no memory or descriptor for it.
        init?(_ poller: SocketPoller, connectionsPerHost: Int) {
            guard let multi = curl_multi_init() else { return nil }
            self.multi = multi
            sockets = CurlSockets(poller)
            _ = ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, max(1, connectionsPerHost))
            _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(1, connectionsPerHost) * 2)
            _ = ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, 0)
            sockets.serve(multi)
        }

        deinit {
            if let multi { curl_multi_cleanup(multi) }
        }

        /// Begins a turn of the lock's holder; everything else follows it.
        func beginTurn() { sockets.beginTurn() }

        /// Begins a transfer, or ends it at once if it can't be begun.
        mutating func begin(_ transfer: CurlTransfer) {
            guard let multi else { return note(transfer, .failed(CurlOutcome.released)) }
            let ticket = transfer.ticket
            guard !ticket.isCancelled.load(ordering: .sequentiallyConsistent) else {
                return note(transfer, .failed(CurlOutcome.cancelled))
            }
            guard sockets.serve(transfer), curl_multi_add_handle(multi, transfer.handle) == CURLM_OK else {
                return note(transfer, .failed(CurlOutcome.refused))
            }
            isEncrypted = isEncrypted || transfer.isEncrypted
            running.add(transfer, as: ticket)
        }

        /// Ends a transfer early, if it is still active.
        mutating func cancel(_ ticket: CurlTicket) {
            guard let transfer = running.transfer(of: ticket) else { return }
            end(transfer, .failed(CurlOutcome.cancelled))
        }

        /// Advances every transfer as far as possible without waiting.
        ///
        /// - Parameter ready: The sockets that are ready.
        mutating func perform(_ ready: [SocketPoller.Ready] = []) {
            guard let multi else { return }
            var count: Int32 = 0
            for (socket, events) in ready where !sockets.dropsUnwanted(socket) {
                curl_multi_socket_action(multi, socket, events, &count)
            }
            if sockets.takeDue() { curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &count) }
            var left: Int32 = 0
            while let message = curl_multi_info_read(multi, &left) {
                guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
                let code = ccurl_result(message)
                if let transfer = CurlTransfer.of(handle) { end(transfer, .done(code)) }
            }
        }

        /// Ends everything, closes kept connections, and begins nothing more.
        mutating func close() {
            for transfer in running.all { end(transfer, .failed(CurlOutcome.released)) }
            if let multi { curl_multi_cleanup(multi) }
            multi = nil
        }

        // MARK: Timers

        /// Decides when the thread runs again even if no socket is ready.
        ///
        /// A planned time isn't postponed: while requests with the same deadline follow each other, the thread needn't
        /// be told of any of them.
        mutating func plan() -> ContinuousClock.Instant? {
            let kept = planned.flatMap { $0 > sockets.now ? $0 : nil }
            planned = [kept, sockets.due].compactMap(\.self).min()
            return planned
        }

        /// Whether something is due before the thread runs again, so that it must be woken.
        mutating func isDueBeforePlan() -> Bool {
            guard let due = sockets.due, planned.map({ due < $0 }) ?? true else { return false }
            planned = due
            return true
        }

        /// Hands over what has ended since the last call.
        ///
        /// - Parameter endings: Receives it, replacing its contents; its memory is used for what ends next.
        mutating func takeEnded(_ endings: inout [Ending]) {
            endings.removeAll(keepingCapacity: true)
            swap(&ended, &endings)
        }

        private mutating func end(_ transfer: CurlTransfer, _ result: CurlResult) {
            if let multi { curl_multi_remove_handle(multi, transfer.handle) }
            running.remove(transfer.ticket)
            note(transfer, result)
        }

        private mutating func note(_ transfer: CurlTransfer, _ result: CurlResult) {
            ended.append((transfer, transfer.end(result)))
        }
    }
#endif
