import Foundation
import Synchronization

/// A receiver of webhooks: it verifies signatures, and accepts and keeps batches of events.
///
/// A batch is refused unless its signature is right, its id is the same in both fields and in the body, and every event
/// has an id, a user, a type and a date. The signature's age isn't checked, because the suite's time isn't the
/// machine's.
public final class WebhookMock: MockVendor {
    /// The receiver's name.
    public static let name = "webhook"
    /// The secret that signatures are made with.
    public static let secret = "whsec_TW9jayByZWNlaXZlciBvZiB3ZWJob29rcywga2V5"

    /// A batch that the receiver took.
    public struct Batch: Sendable, Hashable {
        /// The batch's id, the same in a repetition.
        public let id: String
        /// Its events, as JSON.
        public let events: [String]
    }

    private struct State {
        var batches: [Batch] = []
        var refusals: [String] = []
        var rejected: Set<String> = []
    }
    private let state = Mutex(State())

    /// Creates a receiver.
    public init() {}

    /// The address that batches are sent to.
    public func endpoints(at base: String) -> [String: String] { ["endpoint": base + "/in"] }

    /// The secret.
    public var credentials: [String: String] { ["secret": Self.secret] }

    /// The batches taken so far, repetitions included.
    public var batches: [Batch] { state.withLock { $0.batches } }

    /// Why requests were refused.
    public var refusals: [String] { state.withLock { $0.refusals } }

    /// Returns the batches and forgets them.
    public func takeBatches() -> [Batch] {
        state.withLock { state in
            defer { state.batches = [] }
            return state.batches
        }
    }

    /// Sets the names of events that are never taken: the answer to a batch lists the ids of those with such a name.
    public func reject(named names: Set<String>) { state.withLock { $0.rejected = names } }

    /// `batch` or `unknown`.
    public func operation(of request: MockRequest) -> String { request.path == "/in" ? "batch" : "unknown" }

    /// Takes a batch or refuses it.
    public func respond(to request: MockRequest) async -> MockResponse {
        guard operation(of: request) == "batch" else { return MockResponse(status: 404) }
        guard request.method == "POST" else {
            return MockResponse(status: 405, headers: [.init("Allow", "POST")])
        }
        if let complaint = Self.complaint(aboutSignatureOf: request) { return refuse(401, complaint) }
        let body = MockJSON.parse(request.body)
        guard let members = body?.object, let events = members["events"]?.array else {
            return refuse(400, "the body is no object with events")
        }
        guard let id = members["id"]?.string, id == request.header("webhook-id") else {
            return refuse(400, "the body's id isn't the one of webhook-id")
        }
        if Set(members.keys) != ["id", "events"] { return refuse(400, "the body has other members") }
        if let complaint = events.lazy.compactMap(Self.complaint).first { return refuse(400, complaint) }
        if events.isEmpty { return refuse(400, "the batch is empty") }
        return take(events, id)
    }

    private func take(_ events: [MockJSON], _ id: String) -> MockResponse {
        let rejected = state.withLock { state in
            func isRejected(_ event: MockJSON) -> Bool {
                event["event"]?["name"]?.string.map(state.rejected.contains) ?? false
            }
            state.batches.append(Batch(id: id, events: events.filter { !isRejected($0) }.map(\.text)))
            return events.filter(isRejected).compactMap { $0["id"] }
        }
        return .json(MockJSON.object(["rejected": .array(rejected)]).text)
    }

    private func refuse(_ status: Int, _ complaint: String) -> MockResponse {
        state.withLock { $0.refusals.append(complaint) }
        return MockResponse(status: status, type: "text/plain; charset=utf-8", text: complaint)
    }

    private static func complaint(aboutSignatureOf request: MockRequest) -> String? {
        guard let id = request.header("webhook-id"), !id.isEmpty else { return "webhook-id is missing" }
        guard request.header("idempotency-key") == id else { return "idempotency-key isn't webhook-id" }
        guard let time = request.header("webhook-timestamp"), Int(time) != nil else {
            return "webhook-timestamp is no number of seconds"
        }
        let key = Data(base64Encoded: String(secret.dropFirst("whsec_".count))).map { Array($0) } ?? []
        let expected = WebhookSignature.text(id: id, time: time, body: request.body, key: key)
        let given = request.header("webhook-signature")?.split(separator: " ").map(String.init) ?? []
        return given.contains(expected) ? nil : "webhook-signature isn't that of the message"
    }

    private static func complaint(about event: MockJSON) -> String? {
        let known: Set = ["id", "user", "event", "at", "session", "surface", "campaignTargets"]
        guard let members = event.object else { return "an event is no object" }
        if let other = members.keys.sorted().first(where: { !known.contains($0) }) { return "\(other) is unknown" }
        guard event["id"]?.string?.isEmpty == false else { return "an event has no id" }
        guard event["user"]?["id"]?.string?.isEmpty == false else { return "an event has no user" }
        guard event["event"]?["type"]?.string?.isEmpty == false else { return "an event has no type" }
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = event["at"]?.string, (try? format.parse(date)) != nil else { return "an event has no date" }
        return nil
    }

    /// Forgets the accepted events.
    public func reset() async { state.withLock { $0 = State() } }

    /// Answers `GET /state`.
    public func control(_ request: MockRequest) async -> MockResponse? {
        guard (request.method, request.path) == ("GET", "/state") else { return nil }
        let (batches, refusals) = state.withLock { ($0.batches, $0.refusals) }
        return .json(
            MockJSON.object([
                "batches": .int(batches.count), "events": .int(batches.map(\.events.count).reduce(0, +)),
                "refusals": .array(refusals.map { .string($0) }),
            ]).text
        )
    }

    /// Refuses: a receiver has no content of its own.
    public func load(_ world: Data) async throws(MockWorldError) {
        throw MockWorldError("a webhook has no world; it only receives")
    }
}

extension WebhookMock {
    /// How each behavior that the wire leaves open is known.
    public static let facts: [MockFact] = [
        MockFact(
            .documented,
            "a signature is HMAC-SHA256 over id, time and body, after v1, as Standard Webhooks has it"
        ),
        MockFact(.documented, "a repetition has the webhook-id of the first attempt"),
        MockFact(.inferred, "a wrong signature is answered with 401, a body of another shape with 400"),
        MockFact(.inferred, "the age of a signature isn't checked"),
    ]
}
