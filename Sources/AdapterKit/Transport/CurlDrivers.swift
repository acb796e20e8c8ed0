#if os(Linux)
    import Synchronization

    /// The engine's drivers, each with its own thread and connections.
    ///
    /// One thread is enough for few calls. With many, libcurl keeps it busy all the time, and a second one takes half.
    final class CurlDrivers: Sendable {
        /// A driver for one call.
        struct Assignment {
            let driver: CurlDriver
            let index: Int
        }

        private struct State {
            var open: [CurlDriver] = []
            var calls: CallShares
        }

        private let configuration: CurlConfiguration
        private let idleTime: Duration
        private let state: Mutex<State>

        init(_ configuration: CurlConfiguration, idleTime: Duration) {
            let calls = CallShares(connections: configuration.connectionsPerHost)
            var configuration = configuration
            configuration.connectionsPerHost /= calls.counts.count
            self.configuration = configuration
            self.idleTime = idleTime
            state = Mutex(State(calls: calls))
        }

        /// The drivers that have been needed so far.
        var open: [CurlDriver] { state.withLock(\.open) }

        /// Assigns a call to a driver.
        func begin() -> Assignment {
            state.withLock { state in
                let index = state.calls.begin()
                if index == state.open.count { state.open.append(CurlDriver(configuration, idleTime: idleTime)) }
                return Assignment(driver: state.open[index], index: index)
            }
        }

        /// Takes note of the end of a call.
        func end(_ assignment: Assignment) { state.withLock { $0.calls.end(assignment.index) } }
    }

    /// The number of calls that each driver has.
    struct CallShares {
        /// The calls that the first driver has before the second gets any: with up to about four, waking a second thread
        /// costs as much as it saves.
        private static let few = 4
        /// The least connections to one host that are divided between two drivers: a driver doesn't know of the
        /// other's, and must not wait for one while the other has some left.
        private static let leastDivided = 16

        private(set) var counts: [Int]

        /// Creates the shares of one or two drivers.
        ///
        /// - Parameter connections: The maximum number of simultaneous connections to one host.
        init(connections: Int) { counts = connections < Self.leastDivided ? [0] : [0, 0] }

        /// Adds a call; returns its driver's index.
        mutating func begin() -> Int {
            let index = counts[0] < Self.few ? 0 : counts.indices.min { counts[$0] < counts[$1] } ?? 0
            counts[index] += 1
            return index
        }

        /// Removes a call of a driver.
        mutating func end(_ index: Int) { counts[index] -= 1 }
    }
#endif
