import Experimentation
import Foundation

extension Evergage {
    /// A call that waits for the start or for a change of consent, or the launch itself.
    struct Captured: Sendable {
        enum Content: Sendable {
            case event(TrackingEvent)
            /// The names of a launch are known later; this is what its first event carries.
            case launch(EvergageAction)
        }
        var content: Content
        var date: Date
        var userID: String?
        var surface: String?
        var isBeforeStart: Bool

        var isLaunch: Bool { if case .launch = content { true } else { false } }

        /// Returns the events of this call.
        ///
        /// - Parameter names: The names of the launch; waiting data is sent with its first event.
        /// - Returns: One event, or those of the launch.
        func events(ofLaunch names: [String]) -> [TrackingEvent] {
            switch content {
            case .event(let event): return [event]
            case .launch(let first):
                var later = EvergageAction(members: [:])
                if let id = first.members["account"]?.objectValue?["id"] { later.members["account"] = ["id": id] }
                return names.enumerated().map { index, name in
                    var action = index == 0 ? first : later
                    action.members["action"] = .string(name)
                    return action.event
                }
            }
        }
    }
}
