import Experimentation
import Foundation

/// Completes behaviours with what is known only after they happened: a place, the weather, a customer's number.
///
/// Plug-ins run in their configured order when a behaviour is about to be delivered. One that is synchronous and not
/// ready holds up those after it; one that is not synchronous is passed over and asked again. All of them together have
/// one time-out for a behaviour, after which it is sent with what it has. A behaviour that couldn't be delivered keeps
/// what was added, as long as the process lives; after a restart it is completed anew.
///
/// ```swift
/// struct Weather: AugmentationPlugin {
///     let isSynchronous = false
///     func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness { .ready }
///     func process(_ event: AugmentedEvent) -> AugmentedEvent {
///         var event = event
///         event["Temperature In Celsius"] = "21"
///         return event
///     }
/// }
/// ```
public protocol AugmentationPlugin: Sendable {
    /// Whether later plug-ins wait for this one.
    var isSynchronous: Bool { get }

    /// Whether what is needed is there. Asked again, about ten times a second, while it isn't.
    ///
    /// - Parameters:
    ///   - event: The behaviour as completed so far.
    ///   - waited: How long the behaviour has waited for plug-ins.
    /// - Returns: Whether it is ready.
    func readiness(for event: AugmentedEvent, waited: Duration) async -> AugmentationReadiness

    /// Completes a behaviour. What is thrown leaves it as it was.
    func process(_ event: AugmentedEvent) async throws -> AugmentedEvent
}

/// Whether a plug-in can do its work.
public enum AugmentationReadiness: Sendable, Hashable {
    /// It can.
    case ready
    /// It can't yet.
    case notYet
    /// It never will for this behaviour: it is passed over for good.
    case never
}

/// A behaviour as plug-ins see it.
public struct AugmentedEvent: Sendable, Hashable {
    /// The kind.
    public let type: BehaviorType
    /// When it happened, which may be long ago.
    public let date: Date
    /// The user's id.
    public let userID: String
    /// Its attributes: its name or goal, the campaign, those of device and user, and what the application and the plug-ins
    /// before said of it.
    public private(set) var attributes: [String: String]
    /// What the application said, and what plug-ins have set.
    ///
    /// The rest is written anew with each attempt: a recipient may be
    /// known by then.
    private(set) var changed: [String: String]

    /// Creates a behaviour.
    public init(type: BehaviorType, date: Date, userID: String, attributes: [String: String] = [:]) {
        self.init(type: type, date: date, userID: userID, attributes: attributes, said: attributes)
    }

    init(type: BehaviorType, date: Date, userID: String, attributes: [String: String], said: [String: String]) {
        self.type = type
        self.date = date
        self.userID = userID
        self.attributes = attributes
        changed = said
    }

    /// The value of an attribute; setting `nil` changes nothing, as the reference has it.
    public subscript(name: String) -> String? {
        get { attributes[name] }
        set {
            guard let newValue else { return }
            attributes[name] = newValue
            changed[name] = newValue
        }
    }
}
