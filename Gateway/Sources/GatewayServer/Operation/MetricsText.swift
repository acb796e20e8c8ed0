import Experimentation
import ExperimentationMigration

/// Metrics in Prometheus's text format.
struct MetricsText {
    private var lines: [String] = []

    /// Formats all metrics.
    static func of(_ figures: Counters.Figures, _ tenants: [TenantFigures], isReady: Bool) -> String {
        var text = MetricsText()
        text.family("xp_gateway_ready", "gauge", "Whether every tenant can be answered.", [Sample(isReady ? 1 : 0)])
        text.requests(figures)
        text.durations(figures)
        text.tenants(tenants)
        return text.lines.joined(separator: "\n") + "\n"
    }

    /// A line: a value with labels.
    private struct Sample {
        let value: Double
        let labels: [(name: String, value: String)]

        init(_ value: Double, _ labels: (name: String, value: String)...) {
            self.value = value
            self.labels = labels
        }
    }

    private mutating func family(_ name: String, _ type: String, _ help: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        lines.append("# HELP \(name) \(help)")
        lines.append("# TYPE \(name) \(type)")
        for sample in samples { write(name, sample) }
    }

    private mutating func write(_ name: String, _ sample: Sample) {
        let written = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
        let value = sample.value
        let number = value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
        lines.append(name + (written.isEmpty ? "" : "{\(written)}") + " " + number)
    }

    /// Works on scalars, because a line break or a quotation mark may form one character together with other scalars.
    private static func escaped(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
            case "\"": escaped.append(contentsOf: "\\\"".unicodeScalars)
            case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    private mutating func requests(_ figures: Counters.Figures) {
        let samples = figures.requests.sorted { Self.order($0.key) < Self.order($1.key) }.map { key, count in
            Sample(Double(count), ("tenant", key.tenant), ("route", key.route), ("status", "\(key.status)"))
        }
        family("xp_gateway_requests_total", "counter", "Requests answered.", samples)
    }

    private static func order(_ key: Counters.Labels) -> String { "\(key.tenant)\u{0}\(key.route)\u{0}\(key.status)" }

    private mutating func durations(_ figures: Counters.Figures) {
        guard !figures.durations.isEmpty else { return }
        let name = "xp_gateway_request_seconds"
        lines.append("# HELP \(name) From the end of a request's head to the beginning of its answer.")
        lines.append("# TYPE \(name) histogram")
        for (route, histogram) in figures.durations.sorted(by: { $0.key < $1.key }) {
            var total = 0
            for (place, count) in histogram.counts.enumerated() {
                total += count
                let bound = place < Counters.bounds.count ? "\(Counters.bounds[place])" : "+Inf"
                write("\(name)_bucket", Sample(Double(total), ("route", route), ("le", bound)))
            }
            write("\(name)_sum", Sample(histogram.sum, ("route", route)))
            write("\(name)_count", Sample(Double(total), ("route", route)))
        }
    }

    private mutating func tenants(_ tenants: [TenantFigures]) {
        moves(tenants.compactMap { tenant in tenant.move.map { (tenant.name, $0) } })
        meanwhile(tenants.compactMap { tenant in tenant.meanwhile.map { (tenant.name, $0) } })
        answers(tenants.compactMap { tenant in tenant.answers.map { (tenant.name, $0) } })
        family(
            "xp_gateway_rules_age_seconds",
            "gauge",
            "The age of the rules in use; side is a vendor of a move.",
            tenants.flatMap { tenant in
                tenant.rulesAges.map { Sample($0.age / .seconds(1), ("tenant", tenant.name), ("side", $0.side)) }
            }
        )
        family(
            "xp_gateway_streams",
            "gauge",
            "Clients that listen for changes.",
            tenants.map { Sample(Double($0.streams), ("tenant", $0.name)) }
        )
        var events: [Sample] = []
        for tenant in tenants {
            let ledger = tenant.ledger
            let dropped = ledger.dropped.values.reduce(0, +)
            let states = [
                ("accepted", ledger.accepted), ("delivered", ledger.delivered), ("purged", ledger.purged),
                ("dropped", dropped),
            ]
            events += states.map { Sample(Double($1), ("tenant", tenant.name), ("state", $0)) }
        }
        family("xp_gateway_events_total", "counter", "Events by what became of them.", events)
        family(
            "xp_gateway_events_pending",
            "gauge",
            "Events that wait for delivery, or for their user's consent.",
            tenants.map { Sample(Double($0.ledger.pending), ("tenant", $0.name)) }
        )
    }

    private mutating func meanwhile(_ tenants: [(tenant: String, figures: (waiting: Int, dropped: Int))]) {
        family(
            "xp_gateway_meanwhile_waiting",
            "gauge",
            "Events and assignments in this instance's file that wait for the shared database.",
            tenants.map { Sample(Double($0.figures.waiting), ("tenant", $0.tenant)) }
        )
        family(
            "xp_gateway_meanwhile_dropped_total",
            "counter",
            "Exposures and assignments that this file couldn't take.",
            tenants.map { Sample(Double($0.figures.dropped), ("tenant", $0.tenant)) }
        )
    }

    private mutating func answers(_ tenants: [(tenant: String, figures: AnswerFigures)]) {
        family(
            "xp_gateway_decisions_total",
            "counter",
            "Decisions of a vendor that is asked for each user, by where they came from.",
            tenants.flatMap { name, figures in
                let sources = [
                    ("fresh", figures.fresh), ("stale", figures.stale), ("refused", figures.refused),
                    ("asked", figures.asked),
                ]
                return sources.map { Sample(Double($1), ("tenant", name), ("source", $0)) }
            }
        )
        family(
            "xp_gateway_decisions_users",
            "gauge",
            "Users whose decisions are held.",
            tenants.map { Sample(Double($0.figures.users), ("tenant", $0.tenant)) }
        )
        family(
            "xp_gateway_decisions_bytes",
            "gauge",
            "What they take, roughly.",
            tenants.map { Sample(Double($0.figures.bytes), ("tenant", $0.tenant)) }
        )
    }

    private mutating func moves(_ moves: [(tenant: String, report: MigrationReport)]) {
        family(
            "xp_gateway_move_ratio_alarm",
            "gauge",
            "Whether a sample-ratio test of a move raises an alarm.",
            moves.flatMap { move in
                move.report.ratioTests.map { test in
                    Sample(
                        test.ratio.isAlarming ? 1 : 0,
                        ("tenant", move.tenant),
                        ("stage", test.stage),
                        ("test", test.kind),
                        ("experiment", test.name)
                    )
                }
            }
        )
        family(
            "xp_gateway_move_stage",
            "gauge",
            "The stage of a move: 1 for the one that it is in.",
            moves.map { Sample(1, ("tenant", $0.tenant), ("stage", $0.report.stage.rawValue)) }
        )
        family(
            "xp_gateway_move_compared_total",
            "counter",
            "Flags of users that were compared.",
            moves.map { Sample(Double($0.report.compared), ("tenant", $0.tenant)) }
        )
        family(
            "xp_gateway_move_mismatches_total",
            "counter",
            "Confirmed mismatches by class.",
            moves.flatMap { move in
                Mismatch.Kind.allCases.map { kind in
                    Sample(Double(move.report.confirmed[kind] ?? 0), ("tenant", move.tenant), ("class", kind.rawValue))
                }
            }
        )
    }
}
