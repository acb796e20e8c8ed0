import Synchronization

/// One request, as figures see it.
struct Exchange: Sendable {
    let route: Route?
    /// The tenant's name, once it is known.
    var tenant = ""
    /// Whether there is nothing left of the request.
    var hasReadBody = false

    init(route: Route?) { self.route = route }
}

/// Counts requests by tenant, route and status, and how long they took.
final class Counters: Sendable {
    /// What is counted together.
    struct Key: Sendable, Hashable {
        var tenant: String
        var route: String
        var status: Int
    }

    /// The upper bounds of the histogram, in seconds.
    static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

    /// Durations by bound, those of each bound alone; the last one has no bound.
    struct Histogram: Sendable {
        var counts = [Int](repeating: 0, count: Counters.bounds.count + 1)
        var sum = 0.0
    }

    /// All figures at one moment.
    struct Figures: Sendable {
        var requests: [Key: Int] = [:]
        var durations: [String: Histogram] = [:]
    }

    private let state = Mutex(Figures())

    /// The figures now.
    var figures: Figures { state.withLock { $0 } }

    /// Counts one request.
    func count(_ exchange: Exchange, status: Int, took duration: Duration) {
        let route = exchange.route?.name ?? "none"
        let seconds = duration / .seconds(1)
        let place = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
        state.withLock { figures in
            figures.requests[Key(tenant: exchange.tenant, route: route, status: status), default: 0] += 1
            figures.durations[route, default: Histogram()].counts[place] += 1
            figures.durations[route, default: Histogram()].sum += seconds
        }
    }
}
