#if os(Linux)
    import CCurl
    import Experimentation

    /// What libcurl asks to be told: when a socket is ready, and when a timer is due.
    ///
    /// libcurl calls it back, always under the lock of its ``CurlLoop``.
    final class CurlSockets {
        /// When libcurl must be called even if no socket is ready.
        private(set) var due: ContinuousClock.Instant?

        private let poller: SocketPoller?
        private var watched: Set<Int32> = []

        init(_ poller: SocketPoller?) { self.poller = poller }

        /// Registers this object, which must outlive it, with a multi handle.
        func serve(_ multi: UnsafeMutableRawPointer) {
            let context = Unmanaged.passUnretained(self).toOpaque()
            _ = ccurl_multi_set_socket_callback(multi, Self.watch, context)
            _ = ccurl_multi_set_timer_callback(multi, Self.time, context)
        }

        /// Whether the timer is due; libcurl relies on being called once for it.
        func takeDue() -> Bool {
            guard let due, due <= .now else { return false }
            self.due = nil
            return true
        }

        private static func from(_ context: UnsafeMutableRawPointer) -> CurlSockets {
            Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue()
        }

        private static let watch: curl_socket_callback = { _, socket, what, context, _ in
            guard let context else { return 0 }
            let sockets = from(context)
            if what == CURL_POLL_REMOVE {
                sockets.watched.remove(socket)
                sockets.poller?.forget(socket)
            } else {
                sockets.poller?.watch(
                    socket,
                    isNew: sockets.watched.insert(socket).inserted,
                    reading: what & CURL_POLL_IN != 0,
                    writing: what & CURL_POLL_OUT != 0
                )
            }
            return 0
        }

        private static let time: curl_multi_timer_callback = { _, milliseconds, context in
            guard let context else { return 0 }
            from(context).due = milliseconds < 0 ? nil : .now.advanced(by: .milliseconds(milliseconds))
            return 0
        }
    }
#endif
