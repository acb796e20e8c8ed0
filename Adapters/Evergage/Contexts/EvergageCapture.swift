import Experimentation
import Foundation

extension Evergage {
    /// A call, as it was when it was made.
    struct Captured: Sendable {
        enum Content: Sendable {
            case action(EvergageAction)
            case viewTime(EvergagePing)
        }
        var content: Content
        var date: Date
        var ids: EvergageIDs
        /// The attributes that it carries; `nil` if it can't carry any.
        var attributes: EvergageAttributes?
        var surface: String?
        /// The targets of the surface that had handlers, sorted.
        var targets: [String]
        /// Whether it stands for the launch, whose actions are known later.
        var isLaunch = false

        /// The event of this call.
        var event: TrackingEvent {
            switch content {
            case .viewTime(let ping): return ping.event
            case .action(var action):
                var user: [String: FlagValue] = [:]
                var account: [String: FlagValue] = [:]
                account.set("id", ids.accountID)
                user.set("attributes", unlessEmpty: attributes?.user)
                account.set("attributes", unlessEmpty: attributes?.account)
                action.members.set("user", unlessEmpty: user)
                action.members.set("account", unlessEmpty: account)
                return action.event
            }
        }
    }
}

/// Whose a call is, or the attributes that wait for one; `nil` as long as nobody is named.
struct EvergageIDs: Sendable, Hashable {
    var userID: String?
    var accountID: String?
}

/// Attributes of the user and of the account that go with an action.
struct EvergageAttributes: Sendable, Hashable {
    var user: [String: FlagValue] = [:]
    var account: [String: FlagValue] = [:]

    /// Adds attributes that were set earlier; of those with one name the later stays.
    mutating func add(earlier: Self) {
        user.merge(earlier.user) { later, _ in later }
        account.merge(earlier.account) { later, _ in later }
    }

    /// Removes those of a named user or account that would go with an event of another one.
    ///
    /// - Returns: Whose attributes were removed.
    mutating func keepOwn(of ids: EvergageIDs, for next: EvergageIDs) -> [String] {
        var foreign: [String] = []
        if !user.isEmpty, Self.changes(ids.userID, to: next.userID) {
            user = [:]
            foreign.append("user")
        }
        if !account.isEmpty, Self.changes(ids.accountID, to: next.accountID) {
            account = [:]
            foreign.append("account")
        }
        return foreign
    }

    /// Whether an id becomes another or none; a first id changes nothing.
    private static func changes(_ id: String?, to next: String?) -> Bool {
        id != nil && id.map(ExactText.init) != next.map(ExactText.init)
    }
}

extension [String: FlagValue] {
    fileprivate mutating func set(_ name: String, unlessEmpty object: Self?) {
        if let object, !object.isEmpty { self[name] = .object(object) }
    }
}
