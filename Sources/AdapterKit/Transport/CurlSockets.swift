#if os(Linux)
    import CCurl
    import Experimentation
    import Glibc

    /// What libcurl waits for: sockets to be ready, and timers to be due.
    ///
    /// libcurl calls it back, always under the lock of its ``CurlLoop``.
    final class CurlSockets {
        /// When libcurl must be called even if no socket is ready.
        private(set) var due: ContinuousClock.Instant?

        /// When the turn began.
        private(set) var now = ContinuousClock.now
        private let poller: SocketPoller
        private var watches = SocketWatches()

        init(_ poller: SocketPoller) { self.poller = poller }

        /// Registers this object, which must outlive it, with a multi handle.
        func serve(_ multi: UnsafeMutableRawPointer) {
            let context = Unmanaged.passUnretained(self).toOpaque()
            _ = ccurl_multi_set_socket_callback(multi, Self.watch, context)
            _ = ccurl_multi_set_timer_callback(multi, Self.time, context)
        }

        /// Lets a transfer's connections be opened and closed here, so that their watches may outlive it.
        func serve(_ transfer: CurlTransfer) -> Bool {
            let context = Unmanaged.passUnretained(self).toOpaque()
            return ccurl_set_socket_callbacks(transfer.handle, Self.open, Self.close, context) == CURLE_OK
        }

        /// Reads the clock for all timers set from now on: a timer may be early by the length of the turn, never late.
        func beginTurn() { now = .now }

        /// Whether the timer is due; libcurl relies on being called once for it.
        func takeDue() -> Bool {
            guard let due, due <= now else { return false }
            self.due = nil
            return true
        }

        private static func from(_ context: UnsafeMutableRawPointer) -> CurlSockets {
            Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue()
        }

        /// Ends the watch on a socket that is ready although libcurl isn't waiting for it; returns whether it did.
        func dropsUnwanted(_ socket: Int32) -> Bool {
            guard let change = watches.endIfUnwanted(socket) else { return false }
            poller.apply(change, to: socket)
            return true
        }

        private static let watch: curl_socket_callback = { _, socket, what, context, _ in
            guard let context else { return 0 }
            let sockets = from(context)
            let change =
                what == CURL_POLL_REMOVE
                ? sockets.watches.end(socket)
                : sockets.watches.want(socket, reading: what & CURL_POLL_IN != 0, writing: what & CURL_POLL_OUT != 0)
            if let change { sockets.poller.apply(change, to: socket) }
            return 0
        }

        /// Opens a connection's socket; programs that this process starts don't inherit it.
        private static let open: curl_opensocket_callback = { context, _, address in
            guard let context, let address = address?.pointee else { return -1 }
            let socket = Glibc.socket(
                address.family,
                address.socktype | Int32(SOCK_CLOEXEC.rawValue),
                address.protocol
            )
            if socket >= 0 { from(context).watches.opened(socket) }
            return socket
        }

        private static let close: curl_closesocket_callback = { context, socket in
            if let context {
                let sockets = from(context)
                if let change = sockets.watches.closed(socket) { sockets.poller.apply(change, to: socket) }
            }
            return Glibc.close(socket)
        }

        private static let time: curl_multi_timer_callback = { _, milliseconds, context in
            guard let context else { return 0 }
            let sockets = from(context)
            sockets.due =
                switch milliseconds {
                case ..<0: nil
                // Most calls pass zero, and adding to an instant takes longer than the rest.
                case 0: sockets.now
                default: sockets.now.advanced(by: .milliseconds(milliseconds))
                }
            return 0
        }
    }
#endif
