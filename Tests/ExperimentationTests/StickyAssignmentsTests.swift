import Testing

@testable import Experimentation

@Suite("Precedence among a user's assignments")
struct StickyAssignmentsTests {
    /// What happens to a list; each names its own variation.
    private enum Step: String { case honored, restored, decided }

    private static let table: [([Step], Step)] = [
        ([.decided, .restored], .restored), ([.restored, .decided], .restored),
        ([.honored, .restored], .honored), ([.restored, .honored], .restored),
        ([.honored, .decided], .honored), ([.decided, .honored], .decided),
        ([.decided, .honored, .restored], .restored), ([.honored, .decided, .restored], .honored),
    ]

    @Test("assignments named by the application come first, then stored ones, then decided ones", arguments: table)
    private func order(steps: [Step], first: Step) {
        var assignments = StickyAssignments()
        for step in steps {
            switch step {
            case .honored: assignments.honor(["e": "honored"])
            case .restored: assignments.restore(["e": "restored"], UserRemovals().watch("ada"))
            case .decided: assignments.decide(["e": "decided"])
            }
        }
        #expect(assignments.variations == ["e": first.rawValue])
    }

    @Test("a list is stored once, unless the store has lost it or it has grown")
    func stored() {
        let removals = UserRemovals()
        var assignments = StickyAssignments()
        #expect(assignments.takeUnstored { removals.watch("ada") } == nil)
        assignments.restore(["e": "a"], removals.watch("ada"))
        #expect(assignments.takeUnstored { removals.watch("ada") } == nil)
        assignments.decide(["g": "b"])
        for stored in [["e": "a"], nil, nil] {
            let list = ["e": "a", "g": "b"]
            #expect(assignments.takeUnstored { removals.watch("ada") } == .init(variations: list, stored: stored))
            #expect(assignments.takeUnstored { removals.watch("ada") } == nil)
            assignments.forgetStored()
        }
    }

    @Test("a list is stored again once its user has been removed", arguments: [true, false])
    func removed(isRestored: Bool) {
        let removals = UserRemovals()
        var assignments = StickyAssignments()
        if isRestored { assignments.restore(["e": "a"], removals.watch("ada")) } else { assignments.decide(["e": "a"]) }
        _ = assignments.takeUnstored { removals.watch("ada") }
        removals.note("bob")
        #expect(assignments.takeUnstored { removals.watch("ada") } == nil)
        for _ in 0..<2 {
            removals.note("ada")
            #expect(assignments.takeUnstored { removals.watch("ada") } == .init(variations: ["e": "a"]))
            #expect(assignments.takeUnstored { removals.watch("ada") } == nil)
        }
    }

    /// What another session stored first, and what follows for one that decided `["e": "b", "g": "b"]`.
    private static let others: [([String: String]?, [String: String], Bool)] = [
        (nil, ["e": "b", "g": "b"], false), ([:], ["e": "b", "g": "b"], false),
        (["e": "b"], ["e": "b", "g": "b"], false), (["h": "a"], ["e": "b", "g": "b", "h": "a"], false),
        (["e": "a"], ["e": "a", "g": "b"], true), (["e": "a", "h": "a"], ["e": "a", "g": "b", "h": "a"], true),
    ]

    @Test("an assignment that another session stored first stays and is adopted", arguments: others)
    private func foundLater(found: [String: String]?, merged: [String: String], hasChanged: Bool) throws {
        let removals = UserRemovals()
        var assignments = StickyAssignments()
        assignments.decide(["e": "b", "g": "b"])
        let list = try #require(assignments.takeUnstored { removals.watch("ada") })
        #expect(list.merged(with: found) == merged)
        #expect(assignments.adopt(merged) == hasChanged)
        #expect(assignments.variations == merged)
        #expect(assignments.takeUnstored { removals.watch("ada") } == nil)
    }

    @Test("an assignment named by the application replaces the one that another session stored")
    func honored() throws {
        let removals = UserRemovals()
        var assignments = StickyAssignments()
        assignments.honor(["e": "b"])
        let list = try #require(assignments.takeUnstored { removals.watch("ada") })
        #expect(list.merged(with: ["e": "a", "g": "a"]) == ["e": "b", "g": "a"])
        let hasChanged = assignments.adopt(["e": "a", "g": "a"])
        #expect(!hasChanged)
        #expect(assignments.variations == ["e": "b", "g": "a"])
    }
}
