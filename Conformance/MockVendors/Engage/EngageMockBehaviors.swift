import Foundation

/// The endpoint that receives behaviors, and what it has accepted.
struct EngageBehaviors: Sendable {
    /// A behavior that was accepted.
    struct Behavior: Sendable, Hashable, Codable {
        struct Attribute: Sendable, Hashable, Codable {
            var name: String
            var value: String
        }

        /// The type's code, always as text, whichever JSON type it was sent as.
        var code: String
        /// When it happened, as sent; the time of receipt if there was no timestamp.
        var timestamp: String
        var attributes: [Attribute]
        var contactID: String?
        /// The recipient that it was attributed to; `nil` if none was found.
        var recipient: Int?
        /// The request that carried it, counting from 1.
        var request: Int

        func value(_ name: String) -> String? { attributes.first { $0.name == name }?.value }
    }

    /// The problem of a behavior that was accepted anyway.
    struct Flaw: Sendable, Hashable, Codable {
        var errorId: Int
        var request: Int
        var index: Int
        var description: String
    }

    private(set) var taken: [Behavior] = []
    private(set) var flaws: [Flaw] = []
    private(set) var requests = 0
    private(set) var refused = 0

    /// The attributes that the vendor's own SDK always sends.
    static let coreAttributes = [
        "Device Name", "Device Version", "OS Name", "OS Version", "App Name", "App Version", "Device Id",
        "Primary User Id", "Anonymous Id", "Recipient Id",
    ]

    /// The number of duplicates among the accepted behaviors: same code, time and attributes, in any order.
    var duplicates: Int {
        var seen: Set<[String]> = []
        return taken.count { behavior in
            let attributes = behavior.attributes.map { "\($0.name)\u{0}\($0.value)" }.sorted()
            return !seen.insert([behavior.code, behavior.timestamp] + attributes).inserted
        }
    }

    /// Answers a submission, which is accepted as a whole or not at all.
    mutating func submit(_ request: MockRequest, world: EngageMockBackEnd, now: Date) -> MockResponse {
        requests += 1
        guard request.method == "POST" else { return refuse(405, "POST only") }
        guard (request.header("Content-Type") ?? "").lowercased().hasPrefix("application/json") else {
            return refuse(415, "application/json is expected")
        }
        guard let submission = try? JSONDecoder().decode(Submission.self, from: Data(request.body)) else {
            return refuse(400, "the body isn't an object with a list of events")
        }
        var found: [Behavior] = []
        var problems: [Flaw] = []
        for (index, shape) in submission.events.enumerated() {
            guard let code = shape.eventTypeCode?.text, Int(code) != nil else {
                return refuse(400, "events[\(index)].eventTypeCode is missing or no number")
            }
            guard let attributes = shape.attributes else {
                return refuse(400, "events[\(index)].attributes is missing")
            }
            guard attributes.allSatisfy({ $0.name?.isEmpty == false && $0.value != nil }) else {
                return refuse(400, "events[\(index)].attributes: each needs a name and a value")
            }
            let pairs = attributes.map { Behavior.Attribute(name: $0.name ?? "", value: $0.value?.text ?? "") }
            let names = pairs.filter { ["Event Name", "Goal Name"].contains($0.name) }.map(\.value)
            if names.contains(where: world.settings.refusedNames.contains) {
                return refuse(400, "events[\(index)] is refused")
            }
            func flaw(_ text: String) {
                problems.append(Flaw(errorId: 0, request: requests, index: index, description: text))
            }
            if world.settings.strictBehaviors {
                if shape.eventTimestamp.map(Self.isTimestamp) != true { flaw("eventTimestamp is missing or malformed") }
                for name in Self.coreAttributes where pairs.count(where: { $0.name == name }) != 1 {
                    flaw("\(name) must be there once")
                }
            }
            if let timestamp = shape.eventTimestamp, !Self.isTimestamp(timestamp), !world.settings.strictBehaviors {
                flaw("eventTimestamp is malformed")
            }
            let recipient = Self.recipient(of: shape, pairs, in: world)
            if world.settings.strictContacts, shape.contactId != nil, recipient == nil {
                flaw("contactId names nobody")
            }
            found.append(
                Behavior(
                    code: code,
                    timestamp: shape.eventTimestamp ?? now.ISO8601Format(),
                    attributes: pairs,
                    contactID: shape.contactId?.text,
                    recipient: recipient,
                    request: requests
                )
            )
        }
        for (offset, problem) in problems.enumerated() {
            var numbered = problem
            numbered.errorId = flaws.count + offset + 1
            flaws.append(numbered)
        }
        taken += found
        return .json("{}", status: world.settings.behaviorStatus)
    }

    /// Finds the recipient of a behavior: the contact it names takes precedence over its attributes.
    private static func recipient(
        of shape: Shape,
        _ attributes: [Behavior.Attribute],
        in world: EngageMockBackEnd
    ) -> Int? {
        let everybody = world.lists.flatMap(\.recipients)
        func find(id: String?, mobile: String?) -> Int? {
            let byID = everybody.first { String($0.id) == id }
            let byMobile = everybody.first { mobile?.isEmpty == false && $0.values["Mobile User Id"] == mobile }
            return (byID ?? byMobile)?.id
        }
        if let contact = shape.contactId?.text {
            // The vendor's SDK for Android identifies contacts by their mobile user ids.
            if let found = find(id: contact, mobile: contact) { return found }
            if world.settings.strictContacts { return nil }
        }
        return find(
            id: attributes.first { $0.name == "Recipient Id" }?.value,
            mobile: attributes.first { $0.name == "Primary User Id" }?.value
        )
    }

    /// Answers a request for the flaws that follow one already known.
    func errors(_ request: MockRequest) -> MockResponse {
        let filter = request.queryItem("filter") ?? ""
        let last = filter.hasPrefix("errorId=") ? Int(filter.dropFirst(8)) ?? 0 : 0
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let text = (try? encoder.encode(flaws.filter { $0.errorId > last })).map { String(decoding: $0, as: UTF8.self) }
        return .json(#"{"errors":\#(text ?? "[]")}"#)
    }

    private mutating func refuse(_ status: Int, _ text: String) -> MockResponse {
        refused += 1
        let quoted = text.replacing("\"", with: "'")
        return .json(#"{"error":"invalid_request","error_description":"\#(quoted)"}"#, status: status)
    }

    /// Whether a text is a timestamp such as `2015-02-03T18:04:05.678Z`, with any fraction or zone, on a valid date.
    static func isTimestamp(_ text: String) -> Bool {
        let day = text.prefix(10).split(separator: "-").map { Int($0) ?? -1 }
        guard day.count == 3, EngageMockColumns.isDay(year: day[0], month: day[1], day: day[2]) else { return false }
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return (try? style.parse(text)) != nil || (try? Date.ISO8601FormatStyle().parse(text)) != nil
    }

    // MARK: The shapes, as loosely as they may come

    private struct Submission: Decodable { var events: [Shape] }

    private struct Shape: Decodable {
        struct Attribute: Decodable {
            var name: String?
            var value: TextOrScalar?
        }
        var eventTypeCode: TextOrScalar?
        var eventTimestamp: String?
        var attributes: [Attribute]?
        var contactId: TextOrScalar?
    }

    /// A text, or a number or Boolean converted to text.
    private struct TextOrScalar: Decodable {
        var text: String
        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let text = try? value.decode(String.self) {
                self.text = text
            } else if let number = try? value.decode(Int.self) {
                text = String(number)
            } else if let truth = try? value.decode(Bool.self) {
                text = String(truth)
            } else {
                text = String(try value.decode(Double.self))
            }
        }
    }
}
