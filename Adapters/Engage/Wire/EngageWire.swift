import AdapterKit
import Experimentation

/// The JSON shapes of the wire, in the vendor's spelling.
enum EngageWire {
    /// A grant of the token endpoint.
    struct Grant: Sendable, Hashable {
        var accessToken: String
        var refreshToken: String?
        /// In seconds; `nil` for a token that doesn't expire.
        var expiresIn: Double?
    }

    /// A behavior as submitted.
    struct Behavior: Sendable, Hashable {
        struct Attribute: Sendable, Hashable {
            var name: String
            var value: String
        }
        var code: Int
        var timestamp: String
        var contactID: String?
        var attributes: [Attribute]
    }

    /// Why a successful status isn't a success.
    enum Refusal: Sendable, Hashable {
        /// The answer isn't the vendor's.
        case foreign
        /// The answer says so.
        case stated(String)
    }

    /// Encodes a submission.
    static func submission(_ behaviors: [Behavior]) -> [UInt8] {
        var json = JSONWriter(.exact, capacity: behaviors.count * 900 + 16)
        json.raw(#"{"events":["#)
        for (index, behavior) in behaviors.enumerated() {
            if index > 0 { json.raw(",") }
            json.raw(#"{"eventTypeCode":""#)
            json.number(behavior.code)
            json.raw(#"","eventTimestamp":"#)
            json.text(behavior.timestamp)
            if let contact = behavior.contactID {
                json.raw(#","contactId":"#)
                json.text(contact)
            }
            json.raw(#","attributes":["#)
            for (place, attribute) in behavior.attributes.enumerated() {
                if place > 0 { json.raw(",") }
                json.raw(#"{"name":"#)
                json.text(attribute.name)
                json.raw(#","value":"#)
                json.text(attribute.value)
                json.raw("}")
            }
            json.raw("]}")
        }
        json.raw("]}")
        return json.bytes
    }

    /// Returns whether a successful status hides a failed submission, or an answer that isn't the vendor's.
    static func refusal(in reply: HTTPReply) -> Refusal? {
        guard reply.body.contains(where: { $0 > 0x20 }) else { return nil }
        let value: FlagValue
        do throws(ExperimentationError) { value = try JSON.parse(reply.body) } catch { return .foreign }
        guard let members = value.objectValue else { return nil }
        if let error = members["error"], error != .null, error != .bool(false) {
            return .stated("the answer says: " + word(error.stringValue ?? "error"))
        }
        if members["success"] == .bool(false) { return .stated("the answer says that it failed") }
        return nil
    }
}
