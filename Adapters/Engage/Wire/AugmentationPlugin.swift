import Experimentation
import Foundation

/// Completes behaviors with data known only after they happened: a place, the weather, a customer's number.
///
/// Plug-ins run in their configured order when a behavior is about to be delivered. A synchronous plug-in that isn't
/// ready holds up those after it; any other is skipped and asked again. All plug-ins together have one time-out for a
/// behavior; after that, the behavior is sent with what it has. A behavior that couldn't be delivered keeps what was
/// added as long as the process lives; after a restart it is completed again.
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

    /// Returns whether the plug-in has what it needs; called again, about ten times a second, until it does.
    ///
    /// - Parameters:
    ///   - event: The behavior as completed so far.
    ///   - waited: How long the behavior has waited for plug-ins.
    /// - Returns: Whether it is ready.
    func readiness(for event: AugmentedEvent, waited: Duration) async -> AugmentationReadiness

    /// Completes a behavior; an error leaves it unchanged.
    func process(_ event: AugmentedEvent) async throws -> AugmentedEvent
}

/// Whether a plug-in can do its work.
public enum AugmentationReadiness: Sendable, Hashable {
    /// It is ready.
    case ready
    /// It isn't ready yet.
    case notYet
    /// It will never be ready for this behavior: skip the plug-in.
    case never
}

/// A behavior as passed to plug-ins.
public struct AugmentedEvent: Sendable, Hashable {
    /// The kind.
    public let type: BehaviorType
    /// When it happened, which may be long ago.
    public let date: Date
    /// The user's id.
    public let userID: String
    /// The behavior's attributes.
    ///
    /// They are its name or goal, the campaign, the attributes of device and user, and those from the application and
    /// earlier plug-ins.
    public private(set) var attributes: [String: String]
    /// The attributes from the application and the plug-ins.
    ///
    /// The others are determined for each attempt, because a recipient may have become known.
    var changed: [String: String]
    /// How long ago it happened when plug-ins began to complete it.
    var age = Duration.zero

    /// Creates a behavior.
    public init(type: BehaviorType, date: Date, userID: String, attributes: [String: String] = [:]) {
        self.type = type
        self.date = date
        self.userID = userID
        self.attributes = attributes
        changed = attributes
    }

    /// The value of an attribute; setting `nil` has no effect, as in the reference.
    public subscript(name: String) -> String? {
        get { attributes[name] }
        set {
            guard let newValue else { return }
            attributes[name] = newValue
            changed[name] = newValue
        }
    }
}
