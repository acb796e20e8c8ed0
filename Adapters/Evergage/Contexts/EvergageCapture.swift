import Experimentation
import Foundation

extension Evergage {
    /// A call that waits for the start or for a change of consent, or the launch itself.
    struct Captured: Sendable {
        enum Content: Sendable {
            case action(EvergageAction)
            case viewTime(EvergagePing)
            /// The names of a launch are known later; this is what its first event carries.
            case launch(EvergageAction)
        }
        var content: Content
        var date: Date
        var ids: EvergageIDs
        var surface: String?
        /// The targets of the surface that had handlers, sorted.
        var targets: [String]
        var isBeforeStart: Bool

        var isLaunch: Bool { if case .launch = content { true } else { false } }

        /// The attributes that it carries; `nil` if it can't carry any.
        var attributes: EvergageAttributes? {
            switch content {
            case .action(let action): action.carriesAttributes ? action.attributes : nil
            case .launch(let action): action.attributes
            case .viewTime: nil
            }
        }

        /// Adds earlier attributes to a call that can carry them.
        mutating func carry(_ earlier: EvergageAttributes) {
            switch content {
            case .action(var action):
                action.attributes.add(earlier: earlier)
                content = .action(action)
            case .launch(var action):
                action.attributes.add(earlier: earlier)
                content = .launch(action)
            case .viewTime: break
            }
        }

        /// Returns the events of this call.
        ///
        /// - Parameter names: The names of the launch; waiting data is sent with its first event.
        /// - Returns: One event, or those of the launch.
        func events(ofLaunch names: [String]) -> [TrackingEvent] {
            switch content {
            case .action(let action): return [action.event]
            case .viewTime(let ping): return [ping.event]
            case .launch(let first):
                var later = first
                later.attributes = EvergageAttributes()
                return names.enumerated().map { index, name in
                    var action = index == 0 ? first : later
                    action.members["action"] = .string(name)
                    return action.event
                }
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

extension EvergageAction {
    /// The attributes that it carries.
    var attributes: EvergageAttributes {
        get { EvergageAttributes(user: attributes(of: "user"), account: attributes(of: "account")) }
        set {
            setAttributes(newValue.user, of: "user")
            setAttributes(newValue.account, of: "account")
        }
    }

    private func attributes(of name: String) -> [String: FlagValue] {
        members[name]?.objectValue?["attributes"]?.objectValue ?? [:]
    }

    private mutating func setAttributes(_ attributes: [String: FlagValue], of name: String) {
        var object = members[name]?.objectValue ?? [:]
        object["attributes"] = attributes.isEmpty ? nil : .object(attributes)
        members[name] = object.isEmpty ? nil : .object(object)
    }
}
