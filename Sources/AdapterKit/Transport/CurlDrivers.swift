#if os(Linux)
    import Synchronization

    /// The engine's drivers, each with its own thread and connections.
    ///
    /// One thread is enough for few calls. With many, libcurl keeps it busy all the time, and a second one takes half.
    final class CurlDrivers: Sendable {
        private struct State {
            var open: [CurlDriver] = []
            var calls: CallShares
        }

        private let configuration: CurlConfiguration
        private let make: @Sendable (CurlConfiguration) -> CurlDriver?
        private let state: Mutex<State>

        /// Creates drivers, each when it is needed.
        ///
        /// - Parameters:
        ///   - configuration: The settings for all drivers together.
        ///   - make: Makes a driver; `nil` if it can't be made now.
        init(_ configuration: CurlConfiguration, make: @escaping @Sendable (CurlConfiguration) -> CurlDriver?) {
            let calls = CallShares(connections: configuration.connectionsPerHost)
            var configuration = configuration
            configuration.connectionsPerHost /= calls.counts.count
            self.configuration = configuration
            self.make = make
            state = Mutex(State(calls: calls))
        }

        /// The drivers that have been needed so far.
        var open: [CurlDriver] { state.withLock(\.open) }

        /// Makes a call through one of the drivers; returns `nil` if there is none, and none can be made now.
        ///
        /// - Parameter call: Receives the driver, and whether no other call is under way.
        /// - Returns: What the call returned.
        func with<Answer>(_ call: (CurlDriver, _ isAlone: Bool) async -> Answer) async -> Answer? {
            guard let (driver, index, isAlone) = begin() else { return nil }
            defer { state.withLock { $0.calls.end(index) } }
            return await call(driver, isAlone)
        }

        private func begin() -> (driver: CurlDriver, index: Int, isAlone: Bool)? {
            state.withLock { state in
                let isAlone = state.calls.isEmpty
                let next = state.calls.next
                if next == state.open.count, let driver = make(configuration) { state.open.append(driver) }
                // Without a descriptor for the second driver, the first one serves: it has its own descriptor, and
                // connections.
                let index = min(next, state.open.count - 1)
                guard index >= 0 else { return nil }
                state.calls.begin(index)
                return (state.open[index], index, isAlone)
            }
        }
    }

    /// The number of calls that each driver has.
    struct CallShares {
        /// The calls that the first driver has before the second gets any: with up to about four, waking a second thread
        /// costs as much as it saves.
        private static let few = 4
        /// The lowest number of connections to one host that two drivers divide: a driver doesn't know of the other's
        /// connections, and must not wait for one while the other has some left.
        private static let leastDivided = 16

        private(set) var counts: [Int]

        /// Creates the shares of one or two drivers.
        ///
        /// - Parameter connections: The maximum number of simultaneous connections to one host.
        init(connections: Int) { counts = connections < Self.leastDivided ? [0] : [0, 0] }

        /// Whether no call is under way.
        var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }

        /// The index of the driver for the next call.
        var next: Int { counts[0] < Self.few ? 0 : counts.indices.min { counts[$0] < counts[$1] } ?? 0 }

        /// Adds a call of a driver.
        mutating func begin(_ index: Int) { counts[index] += 1 }

        /// Removes a call of a driver.
        mutating func end(_ index: Int) { counts[index] -= 1 }
    }
#endif
