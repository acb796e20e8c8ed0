import Experimentation
import Foundation
import GatewayBodies

/// An item accepted for the shared database while the database was away.
enum Parcel: Sendable, Codable {
    /// An event as it was sent.
    case event(EventRequest)
    /// Assignments that a user has been given.
    case assignments(AssignmentRecord)

    /// The user's id.
    var userID: String {
        switch self {
        case .event(let event): event.user.id
        case .assignments(let record): record.userID
        }
    }

    /// The event; `nil` for assignments.
    var event: EventRequest? { if case .event(let event) = self { event } else { nil } }

    /// Whether a denial keeps it from being handed over.
    var needsConsent: Bool {
        if let event, case .consentChanged = event.event.kind { false } else { true }
    }

    private static let name = "gateway-parcel"
    private static let content = "content"

    /// The parcel as an event of the local outbox, with the size of its texts.
    var wrapped: (event: TrackingEvent, size: Int)? {
        guard let data = try? JSONEncoder().encode(self) else { return nil }
        let payload: [String: FlagValue] = [Self.content: .string(String(decoding: data, as: UTF8.self))]
        // The outbox writes the user's id twice more, in addition to the content.
        let size = data.count + 2 * userID.utf8.count
        return (TrackingEvent(.native(NativeEvent(type: Self.name, payload: payload))), size)
    }

    /// Unwraps an event of the local outbox.
    init?(_ event: TrackingEvent) {
        let content: FlagValue? =
            if case .native(let native) = event.kind { native.payload[Self.content] }
            // The form that earlier versions wrote.
            else { event.attributes[Self.content] }
        guard let text = content?.stringValue,
            let parcel = try? JSONDecoder().decode(Parcel.self, from: Data(text.utf8))
        else { return nil }
        self = parcel
    }
}
