import ConformanceKit
import Experimentation

extension Swap {
    /// Something that is pending on the day of the switch.
    public struct Waiting: Sendable, Hashable, Codable {
        /// The kind of item.
        public var what: String
        /// What happens to it without any action.
        public var fate: String
        /// What to do; empty if nothing.
        public var advice: String
    }

    /// What is pending on the day of the switch, and what happens to each item.
    ///
    /// The rules are the framework's own: an event is owed to the account that it was accepted for, stored data is
    /// bound to an account, and only declared capabilities allow a transfer.
    static func waiting(from before: VendorStory, to after: VendorStory) -> [Waiting] {
        let old = before.name
        let new = after.name
        var all: [Waiting] = []
        if before.capabilities.contains(.tracking) {
            all.append(
                Waiting(
                    what: "Events in the outbox",
                    fate: "they stay owed to \(old), and \(new) never gets them",
                    advice: "run xp outbox flush, or the last version with \(old), until nothing waits"
                )
            )
            all.append(
                Waiting(
                    what: "Events held for consent",
                    fate: "they stay owed to \(old) until the user decides; a denial removes them for every vendor",
                    advice: "ask before the switch, or give them up"
                )
            )
        }
        if before.capabilities.contains(.experiments) {
            all.append(Waiting.sticky(before, after))
            all.append(
                Waiting(
                    what: "Lists of forced users",
                    fate: "they exist only in \(old)'s console",
                    advice: after.capabilities.contains(.experiments)
                        ? "enter them in \(new)'s console" : "\(new) has no experiments: nothing to enter them in"
                )
            )
        }
        if before.capabilities.contains(.overrides) {
            let isThere = after.capabilities.contains(.overrides)
            all.append(
                Waiting(
                    what: "Assignments forced on the device",
                    fate: isThere ? "they name \(old)'s experiments" : "\(new) can't force any",
                    advice: isThere ? "force them again by \(new)'s names" : "force flags of your own in debug builds"
                )
            )
        }
        if before.capabilities.contains(.offlineStart) {
            all.append(
                Waiting(
                    what: "Decisions kept for an offline start",
                    fate:
                        "they are sealed to \(old)'s account: the first start with \(new) without a network gives defaults",
                    advice: "ship defaults that will do"
                )
            )
        }
        if before.capabilities.contains(.campaigns) {
            all.append(
                Waiting(
                    what: "Campaigns that are held",
                    fate: "they end with the process",
                    advice: after.capabilities.contains(.campaigns) ? "" : "\(new) has none: show something of your own"
                )
            )
        }
        return all
    }
}

extension Swap.Waiting {
    fileprivate static func sticky(_ before: VendorStory, _ after: VendorStory) -> Self {
        guard after.capabilities.contains(.stickyAssignments) else {
            return Self(
                what: "Sticky assignments",
                fate: "\(after.name) takes none over: users are drawn again",
                advice: "finish the experiments before the switch"
            )
        }
        return Self(
            what: "Sticky assignments",
            fate: "users are drawn again unless their assignments are handed over",
            advice: "hand them over with session.honor; xp compare --users says which experiments that keeps"
        )
    }
}
