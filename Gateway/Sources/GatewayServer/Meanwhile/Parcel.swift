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

    private static let name = "gateway-parcel"
    private static let content = "content"

    /// The parcel as an event of the local outbox.
    var wrapped: TrackingEvent? {
        guard let data = try? JSONEncoder().encode(self) else { return nil }
        return .custom(Self.name, attributes: [Self.content: .string(String(decoding: data, as: UTF8.self))])
    }

    /// Unwraps an event of the local outbox.
    init?(_ event: TrackingEvent) {
        guard let text = event.attributes[Self.content]?.stringValue,
            let parcel = try? JSONDecoder().decode(Parcel.self, from: Data(text.utf8))
        else { return nil }
        self = parcel
    }
}
