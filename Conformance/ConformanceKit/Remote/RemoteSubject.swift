import Experimentation
import Foundation
import Synchronization

/// An adapter in another process, in any language, as a subject: it exchanges JSON commands and results over one
/// endpoint.
///
/// `docs/adding-an-adapter.md` describes the endpoint. The client, and with it cache, outbox and consent, stays in this
/// process; the other one runs the provider and its mock vendor.
public struct RemoteSubject: ConformanceSubject {
    /// Sends a command, a JSON object in UTF-8, and returns the answer.
    public typealias Exchanging = @Sendable (_ command: [UInt8]) async throws -> [UInt8]

    /// The newest supported version of the protocol.
    ///
    /// From the second version on, each command to a provider carries the suite's time and a fresh id. From the third
    /// on, a whole SDK may be handed over.
    public static let protocolVersion = 3

    /// The protocol version that the other process speaks.
    public let spokenProtocol: Int
    /// The adapter's version; `nil` if the other process states none.
    public let version: String?
    /// The subject's name, as given by the other process.
    public let name: String
    /// The declared capabilities.
    public let capabilities: Set<Capability>
    /// Why the other capabilities are missing.
    public let reasons: [Capability: String]
    /// The fields that its wire carries.
    public let wireFields: Set<Received.Field>
    /// Why its wire doesn't carry the others.
    public let wireReasons: [Received.Field: String]
    /// The wire's names for types of events that it can't distinguish.
    public let wireTypes: [String: String]
    /// How its declarations are known, as far as it says.
    public let evidence: Evidence
    /// Whether it is a whole SDK, with a cache and an outbox of its own, and not only a role.
    public let isWholeSDK: Bool
    /// The deviations that it knows of.
    public let knownDeviations: [KnownDeviation]
    let traits: RemoteTraits
    let line: RemoteLine

    /// Queries the other process for its traits.
    ///
    /// - Parameter exchange: Sends a command; it should time out after some seconds.
    /// - Throws: ``DocumentError`` when the answer is malformed, and what `exchange` throws.
    public init(over exchange: @escaping Exchanging) async throws {
        line = RemoteLine(exchange: exchange)
        var reader = try await line.result(of: "describe", ["protocol": .int(Self.protocolVersion)])
        spokenProtocol = try reader.optionalInt("protocol", in: 1...Self.protocolVersion) ?? 1
        version = try reader.optionalString("version")
        evidence = try Self.evidence(&reader)
        wireTypes = try reader.texts("wireTypes")
        name = try reader.name("name")
        // The name heads every report and appears next to every case.
        guard name == name.onOneLine else { throw reader.wrong("name", expected: "a text of one line") }
        capabilities = Set(try reader.strings("capabilities").map { Capability(rawValue: $0) })
        var reasons: [Capability: String] = [:]
        for (capability, reason) in try reader.texts("reasons") { reasons[Capability(rawValue: capability)] = reason }
        self.reasons = reasons
        wireFields = Set(try Self.fields(try reader.strings("wireFields"), "wireFields", reader))
        let untold = try reader.texts("wireReasons")
        let places = try Self.fields(Array(untold.keys), "wireReasons", reader)
        wireReasons = Dictionary(zip(places, untold.values), uniquingKeysWith: { first, _ in first })
        knownDeviations = try reader.each("knownDeviations") { (reader) throws(DocumentError) in
            KnownDeviation(
                try reader.name("case"),
                reason: try reader.name("reason"),
                link: try reader.optionalString("link")
            )
        }
        isWholeSDK = try reader.bool("sdk", default: false)
        guard !isWholeSDK || spokenProtocol >= 3 else {
            throw reader.wrong("sdk", expected: "\"protocol\" from 3 on beside it")
        }
        traits = try RemoteTraits(reading: &reader)
        try reader.finish()
    }

    private static func evidence(_ reader: inout DocumentReader) throws(DocumentError) -> Evidence {
        var known: [Capability: Provenance] = [:]
        for (capability, word) in try reader.texts("evidence") {
            guard let provenance = Provenance(rawValue: word) else {
                let words = Provenance.allCases.map(\.rawValue).joined(separator: ", ")
                throw reader.wrong("evidence", expected: "capabilities, each with one of \(words)")
            }
            known[Capability(rawValue: capability)] = provenance
        }
        return Evidence(known)
    }

    private static func fields(
        _ words: [String],
        _ key: String,
        _ reader: DocumentReader
    ) throws(DocumentError) -> [Received.Field] {
        var fields: [Received.Field] = []
        for word in words {
            guard let field = Received.Field(rawValue: word) else {
                let known = Received.Field.allCases.map(\.rawValue).joined(separator: ", ")
                throw reader.wrong(key, expected: "some of \(known)")
            }
            fields.append(field)
        }
        return fields
    }

    /// Makes the other process set up its mock.
    public func open(_ world: World) async throws -> any SubjectStage {
        try await line.call("open", ["world": world.document]) { reader in
            RemoteStage(
                subject: self,
                id: try reader.name("stage"),
                told: ToldGaps(try WorldGap.list(reading: &reader)),
                secrets: try reader.strings("secrets")
            )
        }
    }
}

/// The fixed traits of a remote provider.
struct RemoteTraits: Sendable {
    /// The types of events that it supports.
    var events: Set<String>
    /// Whether it makes decisions.
    var decides: Bool
    /// Whether it links identities in steps.
    var links: Bool
    /// Whether it needs consent.
    var needsConsent: Bool
    /// How long its decisions are valid, in seconds.
    var lifetime: Int?
    /// How many campaigns are held per target; `nil` if events aren't answered with campaigns.
    var campaignLimit: Int?

    init(reading reader: inout DocumentReader) throws(DocumentError) {
        events = Set(try reader.strings("events"))
        decides = try reader.bool("decides", default: false)
        links = try reader.bool("links", default: false)
        needsConsent = try reader.bool("needsConsent", default: false)
        lifetime = try reader.optionalInt("lifetime")
        campaignLimit = try reader.optionalInt("campaignLimit", in: 1...1_000)
    }
}

/// The connection to the other process.
struct RemoteLine: Sendable {
    let exchange: RemoteSubject.Exchanging

    /// Sends a command, reads the result, and rejects keys that weren't read.
    func call<Result>(
        _ command: String,
        _ parameters: [String: FlagValue],
        _ read: (inout DocumentReader) throws -> Result
    ) async throws -> Result {
        var reader = try await result(of: command, parameters)
        let result = try read(&reader)
        try reader.finish()
        return result
    }

    /// Sends a command and opens the result, which the caller finishes.
    func result(of command: String, _ parameters: [String: FlagValue]) async throws -> DocumentReader {
        var members = parameters
        members["command"] = .string(command)
        let answer = try await exchange(Array(try JSONEncoder().encode(FlagValue.object(members))))
        let document = try DocumentReader.parse(answer, named: "answer to \(command)")
        var reader = try DocumentReader(document, named: "answer to \(command)")
        let reason = try reader.optionalString("unsupported")
        let failure = reader.value("error")
        let result = reader.value("result")
        try reader.finish()
        if let reason { throw SubjectError.unsupported(reason) }
        if failure != .null { throw try Self.error(failure, in: reader.document) }
        return try DocumentReader(result, named: reader.document, at: "result")
    }

    private static func error(_ failure: FlagValue, in document: String) throws -> ExperimentationError {
        var reader = try DocumentReader(failure, named: document, at: "error")
        let code = try reader.optionalString("code") ?? ErrorCode.general.rawValue
        let message = try reader.optionalString("message") ?? "The other process says nothing more."
        try reader.finish()
        return ExperimentationError(ErrorCode(rawValue: code), message)
    }
}

/// The gaps that the other process reported: when it was opened, and for the world that its vendor holds now.
final class ToldGaps: Sendable {
    private let ofOpening: [WorldGap]
    private let ofChange = Mutex<[WorldGap]?>(nil)

    init(_ gaps: [WorldGap]) { ofOpening = gaps }

    var current: [WorldGap] { ofChange.withLock { $0 } ?? ofOpening }

    /// Notes the answer to a change of the world; without gaps of its own, those of the opening apply again.
    func note(_ gaps: [WorldGap]?) { ofChange.withLock { $0 = gaps } }
}

/// The stage of a mock in another process.
struct RemoteStage: SubjectStage {
    let subject: RemoteSubject
    let id: String
    let told: ToldGaps
    let secrets: [String]
    let callsUnderWay = CallsUnderWay()

    var gaps: [WorldGap] { told.current }

    func makeProvider() async throws -> any ExperimentationProvider {
        try await call("start") { reader in RemoteProvider(stage: self, id: try reader.name("provider")) }
    }

    func change(to world: World) async throws {
        told.note(
            try await call("change", ["world": world.document]) { reader in
                reader.has("gaps") ? try WorldGap.list(reading: &reader) : nil
            }
        )
    }

    func inject(_ faults: [WorldFault]) async throws {
        try await order("inject", ["faults": .array(faults.map(\.document))])
    }

    func clearFaults() async throws { try await order("clearFaults") }
    func setKillSwitch(_ isOn: Bool) async throws { try await order("setKillSwitch", ["on": .bool(isOn)]) }
    func setReachable(_ isReachable: Bool) async throws {
        // Commands may overtake one another: one sent while the vendor was away must not arrive when it is back.
        if isReachable { await callsUnderWay.waitForEnd(within: .seconds(30)) }
        try await order("setReachable", ["reachable": .bool(isReachable)])
    }

    func received() async throws -> [Received] {
        try await call("received") { reader in
            try reader.each("received") { (reader) throws(DocumentError) in try Received(reading: &reader) }
        }
    }

    func exchanges() async throws -> [Exchange] {
        try await call("exchanges") { reader in
            try reader.each("exchanges") { (reader) throws(DocumentError) in try Exchange(reading: &reader) }
        }
    }

    func close() async { try? await order("close") }

    /// Sends a command that has no result.
    func order(_ command: String, _ parameters: [String: FlagValue] = [:]) async throws {
        try await call(command, parameters) { _ in }
    }

    /// Sends a command and reads its result.
    func call<Result>(
        _ command: String,
        _ parameters: [String: FlagValue] = [:],
        _ read: (inout DocumentReader) throws -> Result
    ) async throws -> Result {
        let members = parameters.merging(["stage": .string(id)]) { given, _ in given }
        return try await RemoteLine(exchange: exchangeToTheEnd).call(command, members, read)
    }

    /// Sends a command and returns the answer; a caller that is cancelled doesn't wait for it.
    ///
    /// The other process may take up a command whose caller has left, so the call is under way until it is answered.
    private func exchangeToTheEnd(_ command: [UInt8]) async throws -> [UInt8] {
        let (answers, answer) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        callsUnderWay.begin()
        Task { [callsUnderWay, exchange = subject.line.exchange] in
            defer { callsUnderWay.end() }
            do {
                answer.yield(try await exchange(command))
                answer.finish()
            } catch {
                answer.finish(throwing: error)
            }
        }
        for try await answer in answers { return answer }
        throw ExperimentationError(.cancelled, "The caller has left before the other process answered.")
    }
}
