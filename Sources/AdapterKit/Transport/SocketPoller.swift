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
            var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(fd: bell))
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

        /// Ends the wait under way, or otherwise the next one at once.
        func wake() {
            var one: UInt64 = 1
            _ = write(bell, &one, 8)
        }

        /// Begins or changes the watch on a socket.
        func watch(_ socket: Int32, isNew: Bool, reading: Bool, writing: Bool) {
            let events = (reading ? EPOLLIN.rawValue : 0) | (writing ? EPOLLOUT.rawValue : 0)
            var event = epoll_event(events: events, data: epoll_data_t(fd: socket))
            _ = epoll_ctl(descriptor, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event)
        }

        /// Ends the watch on a socket.
        func forget(_ socket: Int32) {
            var event = epoll_event()
            _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, &event)
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
                for event in events.prefix(Int(max(0, count))) {
                    if event.data.fd == bell {
                        silence()
                    } else {
                        ready.append((event.data.fd, Self.meaning(event.events)))
                    }
                }
            }
        }

        private func silence() {
            var count: UInt64 = 0
            _ = read(bell, &count, 8)
        }

        private static func meaning(_ events: UInt32) -> Int32 {
            (events & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 ? CURL_CSELECT_IN : 0)
                | (events & EPOLLOUT.rawValue != 0 ? CURL_CSELECT_OUT : 0)
                | (events & EPOLLERR.rawValue != 0 ? CURL_CSELECT_ERR : 0)
        }
    }
#endif
