#if os(Linux)
    /// Which sockets the poller watches, and for what.
    ///
    /// libcurl wants a watch when a request begins, and ends it with the answer. The watch of a connection that is kept
    /// stays in the poller meanwhile, which saves two system calls for each request. If the server says something
    /// nevertheless, usually that it closes the connection, the watch is removed.
    struct SocketWatches {
        /// The changes to make in the poller.
        enum Change: Hashable {
            case add(reading: Bool, writing: Bool)
            case change(reading: Bool, writing: Bool)
            case remove
        }

        private struct State: OptionSet {
            let rawValue: UInt8
            static let reading = State(rawValue: 1)
            static let writing = State(rawValue: 2)
            /// The poller has it.
            static let isWatched = State(rawValue: 4)
            /// libcurl wants it.
            static let isWanted = State(rawValue: 8)
            /// Its end will be announced.
            static let isOwn = State(rawValue: 16)
        }

        /// A state for each socket number; the system hands out the lowest that is free.
        private var states: [State] = []

        /// Registers a socket whose end will be announced by ``closed(_:)``, so that its watch may outlive a request.
        mutating func opened(_ socket: Int32) { self[socket] = .isOwn }

        /// Unregisters a socket that is about to be closed.
        ///
        /// The system would end its watch by itself only if no child process had a copy.
        mutating func closed(_ socket: Int32) -> Change? {
            defer { self[socket] = [] }
            return self[socket].contains(.isWatched) ? .remove : nil
        }

        /// Begins or changes a watch.
        mutating func want(_ socket: Int32, reading: Bool, writing: Bool) -> Change? {
            let before = self[socket]
            var after: State = before.intersection(.isOwn).union([.isWatched, .isWanted])
            if reading { after.insert(.reading) }
            if writing { after.insert(.writing) }
            self[socket] = after
            guard before.contains(.isWatched) else { return .add(reading: reading, writing: writing) }
            return before.union(.isWanted) == after ? nil : .change(reading: reading, writing: writing)
        }

        /// Ends a watch, or leaves it for the next request.
        mutating func end(_ socket: Int32) -> Change? {
            let before = self[socket]
            guard before.contains(.isWatched) else { return nil }
            if before.isSuperset(of: [.isOwn, .reading]), !before.contains(.writing) {
                self[socket].remove(.isWanted)
                return nil
            }
            self[socket] = before.intersection(.isOwn)
            return .remove
        }

        /// Takes note of a ready socket that libcurl may not be waiting for.
        ///
        /// - Returns: `nil` if libcurl is waiting for it, otherwise the end of its watch.
        mutating func endIfUnwanted(_ socket: Int32) -> Change? {
            guard !self[socket].contains(.isWanted) else { return nil }
            self[socket].formIntersection(.isOwn)
            return .remove
        }

        private subscript(socket: Int32) -> State {
            get { states.indices.contains(Int(socket)) ? states[Int(socket)] : [] }
            set {
                guard socket >= 0 else { return }
                while states.count <= Int(socket) { states.append([]) }
                states[Int(socket)] = newValue
            }
        }
    }
#endif
