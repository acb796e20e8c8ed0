import CoreMetrics
import Experimentation
import Synchronization

/// The metrics, with their names and dimensions.
///
/// Used only on the measurements' thread, because a metrics backend may block.
final class Meters: Sendable {
    /// The stores with their previous ledgers, because counters record increments.
    let stores = MeasuredStores()
    private let counters: Cache<Counter>
    private let recorders: Cache<Recorder>
    private let timers: Cache<Timer>

    init(_ factory: any MetricsFactory) {
        counters = Cache { Counter(label: $0, dimensions: $1, factory: factory) }
        recorders = Cache { Recorder(label: $0, dimensions: $1, aggregate: false, factory: factory) }
        timers = Cache { Timer(label: $0, dimensions: $1, factory: factory) }
    }

    /// The metrics of a kind, each made once.
    private final class Cache<Metric: Sendable>: Sendable {
        private struct Name: Hashable {
            let label: String
            let values: [ExactText]
        }

        private let known = Mutex<[Name: Metric]>([:])
        private let make: @Sendable (String, [(String, String)]) -> Metric

        init(_ make: @escaping @Sendable (String, [(String, String)]) -> Metric) { self.make = make }

        subscript(label: String, dimensions: [(String, String)]) -> Metric {
            let name = Name(label: label, values: dimensions.map { ExactText($0.1) })
            return known.withLock { known in
                if let metric = known[name] { return metric }
                let metric = make(label, dimensions)
                known[name] = metric
                return metric
            }
        }
    }

    // MARK: Recording

    /// Records evaluations and users.
    func record(_ growth: EvaluationTally.Growth) {
        for (series, count) in growth.evaluations {
            let key = ("key", series.key.text)
            var dimensions = [key, ("variant", series.variant.text), ("reason", series.reason)]
            if !series.error.isEmpty { dimensions.append(("error", series.error)) }
            add(count, to: "feature_flag.evaluations", dimensions)
            if series.error == "type_mismatch" { add(count, to: "feature_flag.mismatches", [key]) }
        }
        for (key, variants) in growth.users {
            for (variant, users) in variants {
                record(Double(users), as: "feature_flag.users", [("key", key.text), ("variant", variant.text)])
            }
        }
    }

    func exposed(_ arm: Tallies.Arm, _ count: Int) {
        let place = [("experiment", arm.experiment.text), ("variation", arm.variation.text)]
        add(count, to: "experimentation.exposures", place)
    }

    func dropped(_ count: Int) { add(count, to: "experimentation.telemetry.dropped", []) }

    /// Records the ledgers of all destinations.
    ///
    /// - Parameters:
    ///   - ledgers: The ledgers.
    ///   - object: The object that they were read from.
    ///   - store: The store that they are in.
    ///   - existing: The objects that existed when they were read.
    ///   - isFirst: Whether this is only the baseline for later increments.
    func record(
        _ ledgers: [Destination: Ledger],
        of object: MeasuredObject,
        in store: MeasuredStore,
        among existing: [MeasuredObject],
        isFirst: Bool
    ) {
        object.move(to: store)
        var stores: [ObjectIdentifier: MeasuredStore] = [:]
        for store in existing.compactMap(\.store) { stores[ObjectIdentifier(store)] = store }
        for (destination, growth) in store.replace(ledgers, isFirst: isFirst) {
            let place = ("destination", destination.description)
            let pending = stores.values.reduce(0) { $0 + ($1.ledgers[destination]?.pending ?? 0) }
            record(Double(pending), as: "experimentation.outbox.pending", [place])
            add(growth.accepted, to: "experimentation.outbox.accepted", [place])
            add(growth.delivered, to: "experimentation.outbox.delivered", [place])
            add(growth.purged, to: "experimentation.outbox.purged", [place])
            for (reason, count) in growth.dropped {
                add(count, to: "experimentation.outbox.dropped", [place, ("reason", reason.rawValue)])
            }
        }
    }

    func refreshed(in duration: Duration, by provider: String, _ error: ErrorCode?) {
        time(
            duration,
            as: "experimentation.refresh.duration",
            [("provider", provider), ("outcome", error?.rawValue.lowercased() ?? "ok")]
        )
    }

    func aged(_ age: Duration, of provider: String) {
        record(age.fraction, as: "experimentation.refresh.age", [("provider", provider)])
    }

    func delivered(in duration: Duration, to destination: String, _ error: ErrorCode?) {
        time(
            duration,
            as: "experimentation.delivery.duration",
            [("destination", destination), ("outcome", error?.rawValue.lowercased() ?? "ok")]
        )
    }

    func requested(in duration: Duration, _ method: String, _ host: String, _ outcome: OperationOutcome) {
        time(
            duration,
            as: "experimentation.request.duration",
            [
                ("method", method), ("host", host),
                ("outcome", outcome.status.map(String.init) ?? outcome.error?.rawValue.lowercased() ?? "ok"),
            ]
        )
    }

    func mismatched(_ kind: String, _ count: Int) { add(count, to: "experimentation.mismatches", [("kind", kind)]) }

    // MARK: Metrics

    private func add(_ count: Int, to label: String, _ dimensions: [(String, String)]) {
        if count > 0 { counters[label, dimensions].increment(by: count) }
    }

    private func record(_ value: Double, as label: String, _ dimensions: [(String, String)]) {
        recorders[label, dimensions].record(value)
    }

    private func time(_ duration: Duration, as label: String, _ dimensions: [(String, String)]) {
        timers[label, dimensions].recordNanoseconds(Int64(duration.fraction * 1e9))
    }
}

extension Duration {
    /// The duration in seconds.
    fileprivate var fraction: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
