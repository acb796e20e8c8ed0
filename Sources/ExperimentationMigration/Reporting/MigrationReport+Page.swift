import Experimentation

extension MigrationReport {
    /// The report as a self-contained HTML page, for an application's own diagnostics.
    ///
    /// It loads nothing from a network and names no user: mismatches have digests. Everything that came from a vendor is
    /// escaped.
    ///
    /// - Parameters:
    ///   - old: The old vendor's name.
    ///   - new: The new vendor's name.
    /// - Returns: The page, in UTF-8 when written as such.
    public func page(from old: String, to new: String) -> String {
        let title = "Moving from \(old) to \(new)"
        var page = MigrationPage(title: title, lead: lead(old, new))
        if !held.isEmpty { page.list("Held because", held) }
        page.table("Users", ["", old, new], userRows)
        page.table(
            "Events",
            ["destination", "accepted", "delivered", "pending", "purged", "dropped"],
            Self.rows(of: ledgers)
        )
        page.table("Sample ratio", ["stage", "experiment", "of", "users", "p", ""], ratioRows(old, new))
        page.table(
            "Mismatches, of \(compared) flags of users compared (\(dropped) comparisons dropped)",
            ["class", "observed", "confirmed", "undecided"],
            Mismatch.Kind.allCases.map { kind in
                [kind.rawValue] + [observed, confirmed, undecided].map { "\($0[kind] ?? 0)" }
            }
        )
        page.table("Most recent mismatches", ["flag", "class", "led by", old, new, "user"], mismatchRows(old, new))
        return page.text
    }

    private func lead(_ old: String, _ new: String) -> String {
        let portion = stage == .live ? ", \(Self.percent(share)) of the users answered by \(new)" : ""
        let seen = changed == 0 ? "no user saw another variation" : "\(changed) users saw another variation"
        let bound =
            compared == 0 ? "nothing compared yet" : "at most \(Self.percent(rate.upperBound())) of the flags differ"
        return "Stage \(stage.rawValue)\(portion): \(seen); \(bound)."
    }

    private var userRows: [[String]] {
        func row(_ title: String, _ cell: (MigrationSide) -> String) -> [String] { [title, cell(.old), cell(.new)] }
        return [
            row("pinned by this instance") { "\(pinned[$0] ?? 0)" },
            row("exposures taken") { "\(exposures[$0] ?? 0)" },
            row("unsupported events") { "\(unsupported[$0] ?? 0)" },
            row("decisions") { "\(latencies[$0]?.count ?? 0)" },
            row("half of them within") { Self.milliseconds(latencies[$0]?.quantile(0.5)) },
            row("99 of 100 within") { Self.milliseconds(latencies[$0]?.quantile(0.99)) },
        ]
    }

    private func ratioRows(_ old: String, _ new: String) -> [[String]] {
        func row(_ stage: String, _ experiment: String, _ of: String, _ ratio: Ratio) -> [String] {
            let arms = ratio.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            let p = ratio.pValue >= 0.001 ? "\((ratio.pValue * 1_000).rounded() / 1_000)" : "below 0.001"
            return [stage, experiment, of, arms.joined(separator: ", "), p, ratio.isAlarming ? "alarm" : ""]
        }
        func rows(_ stage: String, _ ratios: [String: Ratio], _ of: String) -> [[String]] {
            ratios.sorted { $0.key < $1.key }.map { row(stage, $0.key, of, $0.value) }
        }
        var all: [[String]] = []
        if var sides {
            sides.counts = [old: sides.counts["old"] ?? 0, new: sides.counts["new"] ?? 0]
            all.append(row("all", "–", "sides", sides))
        }
        all += rows("all", allocations, "first assignments") + rows("all", exposed, "exposures")
        for stage in MigrationStage.allCases {
            guard let ratios = stages[stage] else { continue }
            all += rows(stage.rawValue, ratios.allocations, "first assignments")
            all += rows(stage.rawValue, ratios.exposed, "exposures")
        }
        return all
    }

    private func mismatchRows(_ old: String, _ new: String) -> [[String]] {
        func answer(_ answer: Mismatch.Answer) -> String {
            let said = answer.code.map(\.rawValue) ?? answer.resolution.map { "\($0.value)" } ?? "no such flag"
            let variant = answer.resolution?.variant.map { " (\($0))" } ?? ""
            let version = answer.version.map { ", version \($0)" } ?? ""
            return said + variant + ", " + Self.milliseconds(answer.latency) + version
        }
        return recent.reversed().map { mismatch in
            [
                mismatch.key, mismatch.kind.rawValue, mismatch.leader == .old ? old : new, answer(mismatch.old),
                answer(mismatch.new), mismatch.user,
            ]
        }
    }

    private static func rows(of ledgers: [Destination: Ledger]) -> [[String]] {
        ledgers.sorted { $0.key.provider < $1.key.provider }.map { destination, ledger in
            let dropped = ledger.dropped.values.reduce(0, +)
            let counts = [ledger.accepted, ledger.delivered, ledger.pending, ledger.purged, dropped]
            return [destination.provider] + counts.map { "\($0)" }
        }
    }

    private static func percent(_ share: Double) -> String { "\((share * 10_000).rounded() / 100) %" }

    private static func milliseconds(_ duration: Duration?) -> String {
        guard let duration else { return "–" }
        let milliseconds = duration / .milliseconds(1)
        return "\(milliseconds < 10 ? (milliseconds * 100).rounded() / 100 : milliseconds.rounded()) ms"
    }
}
