#if os(Linux)
    import CCurl
    import Glibc

    /// Waits until sockets are ready, and can be woken from any thread.
    struct SocketPoller: Sendable {
        /// A socket and what it is ready for, in libcurl's terms.
        typealias Ready = (socket: Int32, events: Int32)

        private static let mostAtOnce = 64

        private let descriptor: Int32
        private let bell: Int32

        /// Creates a poller; `nil` if the process has no descriptor left.
        init?() {
            descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
            bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            // Each ring is reported once, so that nothing needs to be read.
            var event = epoll_event(events: EPOLLIN.rawValue | EPOLLET.rawValue, data: epoll_data_t(fd: bell))
            guard descriptor >= 0, bell >= 0, epoll_ctl(descriptor, EPOLL_CTL_ADD, bell, &event) == 0 else {
                close()
                return nil
            }
        }

        /// Closes the descriptors.
        func close() {
            if descriptor >= 0 { Glibc.close(descriptor) }
            if bell >= 0 { Glibc.close(bell) }
        }

        /// Ends the current wait, or the next one if there is none.
        func wake() {
            var one: UInt64 = 1
            _ = write(bell, &one, 8)
        }

        /// Begins, changes or ends the watch on a socket.
        func apply(_ change: SocketWatches.Change, to socket: Int32) {
            let (operation, reading, writing) =
                switch change {
                case .add(let reading, let writing): (EPOLL_CTL_ADD, reading, writing)
                case .change(let reading, let writing): (EPOLL_CTL_MOD, reading, writing)
                case .remove: (EPOLL_CTL_DEL, false, false)
                }
            let events = (reading ? EPOLLIN.rawValue : 0) | (writing ? EPOLLOUT.rawValue : 0)
            var event = epoll_event(events: events, data: epoll_data_t(fd: socket))
            _ = epoll_ctl(descriptor, operation, socket, &event)
        }

        /// Waits for a ready socket or a call of ``wake()``, up to a time limit.
        ///
        /// - Parameters:
        ///   - milliseconds: The time limit.
        ///   - ready: Receives the sockets, replacing its contents.
        func wait(milliseconds: Int32, _ ready: inout [Ready]) {
            ready.removeAll(keepingCapacity: true)
            withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.mostAtOnce) { events in
                let count = epoll_wait(descriptor, events.baseAddress, Int32(Self.mostAtOnce), milliseconds)
                for event in events.prefix(Int(max(0, count))) where event.data.fd != bell {
                    ready.append((event.data.fd, Self.meaning(event.events)))
                }
            }
        }

        private static func meaning(_ events: UInt32) -> Int32 {
            (events & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 ? CURL_CSELECT_IN : 0)
                | (events & EPOLLOUT.rawValue != 0 ? CURL_CSELECT_OUT : 0)
                | (events & EPOLLERR.rawValue != 0 ? CURL_CSELECT_ERR : 0)
        }
    }
#endif
