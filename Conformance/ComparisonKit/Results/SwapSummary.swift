import ConformanceKit
import Experimentation

/// A change of vendors on one screen: what breaks, what changes silently, what stays, what improves.
public struct SwapSummary: Sendable, Hashable, Codable {
    /// What works now and won't.
    public var breaks: Group
    /// What continues with a different outcome and without an error.
    public var changes: Group
    /// What continues unchanged.
    public var stays: Group
    /// What doesn't exist now and will.
    public var gains: Group

    /// Lines of one kind.
    public struct Group: Sendable, Hashable, Codable {
        /// The lines; running experiments first.
        public var lines: [Line]
        /// The number of further lines that were cut off.
        public var more: Int

        /// The maximum number of lines in a group.
        public static let most = 5

        init(_ all: [Line] = []) {
            lines = Array(all.prefix(Self.most))
            more = max(0, all.count - Self.most)
        }
    }

    /// A line, and what to do about it.
    public struct Line: Sendable, Hashable, Codable {
        /// The line's text.
        public var what: String
        /// What to do; empty if nothing.
        public var advice: String

        init(_ what: String, _ advice: String = "") {
            self.what = what
            self.advice = advice
        }
    }

    /// The groups with their titles, in display order.
    public var groups: [(title: String, group: Group)] {
        [("Breaks", breaks), ("Changes silently", changes), ("Stays", stays), ("Gets better", gains)]
    }

    /// Creates an empty summary.
    init() { (breaks, changes, stays, gains) = (Group(), Group(), Group(), Group()) }

    init(
        _ swap: Swap,
        from before: VendorStory,
        to after: VendorStory,
        _ running: Result<[RunningExperiment], any Error>
    ) {
        var experiments: [RunningExperiment] = []
        var breaks: [Line] = []
        do { experiments = try running.get() } catch {
            breaks = [
                Line("Experiments: can't be told (\(error))", "xp compare --users says who would change variation")
            ]
        }
        breaks += experiments.filter { $0.advice == .finishFirst }.map {
            Line("Experiment \"\($0.name)\": \($0.reason)", "finish it before the switch")
        }
        // Features that a vendor lacks altogether are listed below, by their calls; here are only this world's parts.
        breaks += after.gaps.filter { gap in
            gap.path.contains("/") && !before.gaps.contains { $0.covers(gap.path) }
        }.map {
            Line("\($0.path): \($0.reason)", "say it by another rule, or in the application")
        }
        breaks += swap.lostCalls.map {
            Line(
                "\($0.calls.joined(separator: ", ")): \($0.reason)",
                "remove the calls, or keep \(swap.from) beside \(swap.to) for them"
            )
        }
        breaks += swap.steps.filter { $0.kind == .breaks }.map {
            Line("\($0.title): \($0.before) → \($0.after)", "see step \($0.step)")
        }
        self.breaks = Group(breaks)

        var changes = experiments.filter { $0.advice == .importFirst }.map {
            Line("Experiment \"\($0.name)\": \($0.reason)", "hand the assignments over, with session.honor")
        }
        changes += swap.steps.filter { $0.kind == .value }.map {
            Line("\($0.title): \($0.before) → \($0.after)", "check what reads it")
        }
        changes += Self.lostFields(before, after)
        changes += swap.answers.map {
            Line("\($0.question.title): \($0.before) → \($0.after)", "decide whether that will do")
        }
        self.changes = Group(changes)

        var stays = experiments.filter { $0.advice == .carryOn }.map { Line("Experiment \"\($0.name)\": \($0.reason)") }
        let differing = Set(swap.steps.map(\.step))
        let done = after.outcomes.filter { $0.kind == .done && !differing.contains($0.step) }.count
        if done > 0 { stays.append(Line("\(done) of \(before.outcomes.count) steps of the story go as they did")) }
        let both = Capability.all.filter { before.capabilities.contains($0) && after.capabilities.contains($0) }
        if !both.isEmpty { stays.append(Line(both.map(\.rawValue).joined(separator: ", "))) }
        // Only events that applications track were tested: exposures and signals aren't among them.
        let asked = Set(TrackingEvent.examples.map(\.type))
        let taken = TrackingEvent.types.filter {
            asked.contains($0) && before.refusedEvents[$0] == nil && after.refusedEvents[$0] == nil
        }
        let takesEvents = after.capabilities.contains(.tracking)
        let tookEvents = before.capabilities.contains(.tracking)
        if tookEvents, takesEvents, !taken.isEmpty {
            stays.append(Line("Both take these events: \(taken.joined(separator: ", "))"))
        }
        self.stays = Group(stays)

        var gains = swap.gained.map { Line("\($0.rawValue)") }
        let further = TrackingEvent.types.filter { before.refusedEvents[$0] != nil && after.refusedEvents[$0] == nil }
        if !further.isEmpty { gains.append(Line("\(swap.to) takes these events: \(further.joined(separator: ", "))")) }
        let (old, new) = (swap.trafficBefore.requests, swap.trafficAfter.requests)
        if new < old, swap.doesAsMuch(after, as: before) {
            gains.append(Line("\(new) \(new == 1 ? "request" : "requests") in place of \(old)"))
        }
        self.gains = Group(gains)
    }

    /// The fields that the old vendor has and the new one lacks, of events that both accept.
    private static func lostFields(_ before: VendorStory, _ after: VendorStory) -> [Line] {
        var types: [String: [String]] = [:]
        for old in before.fidelity where old.arrivedAs != nil {
            guard let new = after.fidelity.first(where: { $0.type == old.type && $0.arrivedAs != nil }) else {
                continue
            }
            for (field, fate) in old.fields where fate == .kept && new.fields[field] != .kept {
                types[field, default: []].append(old.type)
            }
        }
        return types.sorted { $0.key < $1.key }.map { field, types in
            let all =
                types.count == before.fidelity.count(where: { $0.arrivedAs != nil })
                ? "every event" : types.joined(separator: ", ")
            return Line("The \(field) of \(all) doesn't arrive as it is", "carry it in another field, or do without")
        }
    }
}

extension Swap {
    /// Whether the new vendor took, delivered and answered all that the old one did: fewer requests that achieve less
    /// are no improvement.
    fileprivate func doesAsMuch(_ after: VendorStory, as before: VendorStory) -> Bool {
        let lost: Set<Capability> = [.flags, .objectFlags, .tracking]
        let isShorter = steps.contains { $0.kind == .breaks || $0.kind == .missing }
        let refuses = after.refusedEvents.keys.contains { before.refusedEvents[$0] == nil }
        let cantSay = after.gaps.contains { gap in
            gap.path.hasPrefix("flags") && !before.gaps.contains { $0.covers(gap.path) }
        }
        let loses = (after.lost ?? 0) > (before.lost ?? 0) || after.dropped > before.dropped
        return after.failure == nil && !isShorter && !refuses && !cantSay && !loses
            && !missing.contains { lost.contains($0.capability) }
    }
}

extension VendorStory {
    /// The number of events that weren't delivered.
    fileprivate var dropped: Int { ledger.dropped.values.reduce(0, +) }
}
