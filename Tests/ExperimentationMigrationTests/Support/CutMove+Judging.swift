import Experimentation
import ExperimentationTesting
import Foundation

@testable import ExperimentationMigration

/// What the vendors must have at the end.
extension CutMove {
    /// How far a stored date may be off, in seconds.
    private static let moment = 0.002

    func judge(_ ledgers: [Destination: Ledger]) {
        let vendors = [moves.old, moves.new] + (shapes.values.contains(.besideWarehouse) ? [warehouse] : [])
        var ids: [String: Set<String>] = [:]
        for vendor in vendors {
            let record = vendor.record.delivered
            judge(ledgers[vendor.destination] ?? Ledger(), of: vendor, Set(record.map(\.id)).count)
            judgeGoals(at: vendor, record)
            judgeExposures(at: vendor, record)
            for denial in denials { judge(denial, at: vendor, record.filter { $0.identity.id == denial.user }) }
            for envelope in record {
                if let name = envelope.goal { ids[name, default: []].insert(envelope.id) }
            }
        }
        for side in MigrationSide.allCases { judgeLinks(at: side) }
        for (name, ids) in ids where ids.count > 1 { fail("\(name) has the ids \(ids)") }
        if !mayHaveReachedNew, !moves.new.record.delivered.isEmpty { fail("the new vendor is sent events") }
    }

    private func judge(_ ledger: Ledger, of vendor: InMemoryProvider, _ unique: Int) {
        if !ledger.isBalanced || ledger.dropped != [:] || ledger.pending != 0 { fail("\(vendor.name): \(ledger)") }
        // What was delivered before a denial, and not settled, counts as purged.
        let range = ledger.delivered...(ledger.delivered + ledger.purged)
        if !range.contains(unique) { fail("\(vendor.name) has \(unique): \(ledger)") }
    }

    private func judgeLinks(at side: MigrationSide) {
        let record = vendor(side).record.links
        for number in people.indices {
            let own = record.filter { $0.from.id == "visit-\(number)" }
            let isOwed = links.contains { $0.person == number && $0.stage.sendsEvents(to: side) }
            if isOwed, !own.contains(where: { $0.to.id == "person-\(number)" }) {
                fail("\(side) lacks the link of \(number)")
            }
            if own.count > 1 + cuts[number, default: 0] { fail("\(side) has \(own.count) links of \(number)") }
        }
    }

    private func judgeGoals(at vendor: InMemoryProvider, _ record: [Envelope]) {
        var first: [String: Int] = [:]
        for (place, envelope) in record.enumerated() {
            if let name = envelope.goal { first[name] = first[name] ?? place }
        }
        var last: [String: Int] = [:]
        for goal in goals {
            let isDenied = attempts.contains { $0.user == goal.user && $0.date >= goal.date }
            guard let place = first[goal.name] else {
                if goal.isAccepted, isOwed(goal, to: vendor), !isDenied { fail("\(vendor.name) lost \(goal.name)") }
                continue
            }
            if !isOwed(goal, to: vendor) { fail("\(vendor.name) has \(goal.name) of \(goal.stage)") }
            if place < last[goal.user] ?? -1 { fail("\(vendor.name) has \(goal.name) out of order") }
            last[goal.user] = place
        }
    }

    private func isOwed(_ goal: Goal, to vendor: InMemoryProvider) -> Bool {
        MigrationSide.allCases.contains { side in
            let isOfSide =
                vendor.name == side.rawValue
                || (vendor.name == "warehouse" && shapes[side] == .besideWarehouse)
            return isOfSide && goal.stage.sendsEvents(to: side)
        }
    }

    private func judgeExposures(at vendor: InMemoryProvider, _ record: [Envelope]) {
        let own = ["old": "e", "new": "x"]
        var seen: [String: Set<String>] = [:]
        for envelope in record {
            guard case .exposure(let exposure) = envelope.event.kind else { continue }
            let experiment = exposure.assignment.experiment.id
            if let prefix = own[vendor.name], !experiment.hasPrefix(prefix) {
                fail("\(vendor.name) has an exposure of \(experiment)")
            }
            let key = "\(envelope.session) \(envelope.identity.id) \(experiment) \(exposure.assignment.variation.id)"
            seen[key, default: []].insert(envelope.id)
        }
        for (key, ids) in seen where ids.count > 1 { fail("\(vendor.name): \(ids.count) exposures of \(key)") }
    }

    /// Checks what a vendor has of a user who has denied consent.
    private func judge(_ denial: Denial, at vendor: InMemoryProvider, _ record: [Envelope]) {
        for envelope in record {
            if case .consentChanged = envelope.event.kind { continue }
            let isBefore = envelope.date.timeIntervalSince(denial.date) < Self.moment
            let isLate = isBefore && !denial.delivered.contains("\(vendor.name) \(envelope.id)")
            let isDuring = !isBefore && denial.end.map { envelope.date.timeIntervalSince($0) < -Self.moment } ?? true
            if isLate || isDuring { fail("\(vendor.name) has \(envelope) in spite of a denial") }
        }
        let isLast = denial.end == nil && denials.last { $0.user == denial.user }?.date == denial.date
        let signal = TrackingEvent(.consentChanged(granted: false))
        guard isLast, vendor.name == "old" || (vendor.name == "new" && denial.hasReachedNew) else { return }
        if !record.contains(where: { $0.event == signal && abs($0.date.timeIntervalSince(denial.date)) < Self.moment })
        {
            fail("\(vendor.name) isn't told of the denial of \(denial.user)")
        }
    }
}

extension Envelope {
    /// The name of a custom event.
    fileprivate var goal: String? { if case .custom(let name, _) = event.kind { name } else { nil } }
}
