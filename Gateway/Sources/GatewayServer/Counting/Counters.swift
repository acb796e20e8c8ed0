import Synchronization

/// A request, for the metrics.
struct Exchange: Sendable {
    let route: Route?
    /// The tenant's name; empty until it is known.
    var tenant = ""
    /// Whether the request was read to its end.
    var hasReadBody = false

    init(route: Route?) { self.route = route }
}

/// Counts requests by tenant, route and status, and measures their durations.
final class Counters: Sendable {
    /// The labels of a counter.
    struct Labels: Sendable, Hashable {
        var tenant: String
        var route: String
        var status: Int
    }

    /// The upper bounds of the histogram, in seconds.
    static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

    /// The number of requests per bucket, not cumulative; the last bucket has no upper bound.
    struct Histogram: Sendable {
        var counts = [Int](repeating: 0, count: Counters.bounds.count + 1)
        var sum = 0.0

        fileprivate mutating func add(_ seconds: Double, at place: Int) {
            counts[place] += 1
            sum += seconds
        }
    }

    /// A snapshot of all metrics.
    struct Figures: Sendable {
        var requests: [Labels: Int] = [:]
        var durations: [String: Histogram] = [:]
    }

    private let state = Mutex(Figures())

    /// The current metrics.
    var figures: Figures { state.withLock { $0 } }

    /// Counts a request.
    func count(_ exchange: Exchange, status: Int, took duration: Duration) {
        let route = exchange.route?.name ?? "none"
        let seconds = duration / .seconds(1)
        let place = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
        state.withLock { figures in
            figures.requests[Labels(tenant: exchange.tenant, route: route, status: status), default: 0] += 1
            figures.durations[route, default: Histogram()].add(seconds, at: place)
        }
    }
}
