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

    /// Returns the failure of a submission that an answer with a successful status reports.
    static func refusal(in answer: FlagValue) -> String? {
        guard let members = answer.objectValue else { return nil }
        if let error = members["error"], error != .null, error != .bool(false) {
            return "the answer says: " + word(error.stringValue ?? "error")
        }
        return members["success"] == .bool(false) ? "the answer says that it failed" : nil
    }
}
