import ConformanceKit
import Experimentation
import Foundation
import MockVendors
import Synchronization

/// The vendor-specific part of a subject; ``MockStage`` does the rest.
public struct MockWire<Vendor: MockVendor>: Sendable {
    /// The mock's operations for each purpose; a purpose without any can't fail, and injecting a fault there throws.
    public var operations: [WorldFault.Operation: [String]]
    /// The content type that the vendor answers with.
    public var contentType: String
    /// The vendor's answer with status 200 that reports a failure, if it has one.
    public var failure: String?
    /// The secrets that must never appear in logs, errors and reports.
    public var secrets: [String]
    /// Fills the mock from a world and returns what it can't represent; called again when the world changes.
    public var load: @Sendable (Vendor, World) async throws -> [WorldGap]
    /// Creates a provider configured for a running server.
    public var makeProvider: @Sendable (MockServer) async throws -> any ExperimentationProvider
    /// Translates what the vendor accepted into neutral terms, in the order of arrival.
    public var received: @Sendable (Vendor, [JournalEntry]) async throws -> [Received]
    /// Does what ``received`` does, and makes the vendor forget it; `nil` if it can't.
    public var takeReceived: (@Sendable (Vendor, [JournalEntry]) async throws -> [Received])?
    /// Whether a client is connected to the mock's announcements of changes; `true` if it makes none.
    public var isHeard: @Sendable (Vendor) -> Bool
    /// Turns the vendor's kill switch on or off; `nil` if it has none.
    public var setKillSwitch: (@Sendable (Vendor, Bool) async throws -> Void)?
    /// Prepares a filled mock for people and other programs, which get no provider from here; `nil` if nothing is
    /// needed.
    public var prepareToServe: (@Sendable (Vendor) async throws -> Void)?

    /// Creates a description of a vendor's wire.
    public init(
        operations: [WorldFault.Operation: [String]],
        contentType: String,
        failure: String? = nil,
        secrets: [String] = [],
        load: @escaping @Sendable (Vendor, World) async throws -> [WorldGap],
        makeProvider: @escaping @Sendable (MockServer) async throws -> any ExperimentationProvider,
        received: @escaping @Sendable (Vendor, [JournalEntry]) async throws -> [Received],
        takeReceived: (@Sendable (Vendor, [JournalEntry]) async throws -> [Received])? = nil,
        isHeard: @escaping @Sendable (Vendor) -> Bool = { _ in true },
        setKillSwitch: (@Sendable (Vendor, Bool) async throws -> Void)? = nil,
        prepareToServe: (@Sendable (Vendor) async throws -> Void)? = nil
    ) {
        self.operations = operations
        self.contentType = contentType
        self.failure = failure
        self.secrets = secrets
        self.load = load
        self.makeProvider = makeProvider
        self.received = received
        self.takeReceived = takeReceived
        self.isHeard = isHeard
        self.setKillSwitch = setKillSwitch
        self.prepareToServe = prepareToServe
    }
}

/// A stage that runs a mock vendor on a loopback socket.
public final class MockStage<Vendor: MockVendor>: SubjectStage {
    /// The mock.
    public let vendor: Vendor
    /// The server in front of it.
    public let server: MockServer
    private let wire: MockWire<Vendor>
    private let found = Mutex<[WorldGap]>([])

    /// Starts a mock with a world.
    public init(_ vendor: Vendor, wire: MockWire<Vendor>, world: World) async throws {
        self.vendor = vendor
        self.wire = wire
        server = MockServer(vendor, patience: world.patience)
        try await change(to: world)
        try await server.start()
    }

    /// Prepares the mock for people and other programs.
    public func prepareToServe() async throws { try await wire.prepareToServe?(vendor) }

    /// The parts of the world that the vendor can't represent.
    public var gaps: [WorldGap] { found.withLock { $0 } }

    /// The secrets that must never appear in logs, errors and reports.
    public var secrets: [String] { wire.secrets }

    /// Whether a client that listens for changes is connected.
    public var isHeard: Bool { wire.isHeard(vendor) }

    /// Creates a provider for the mock.
    public func makeProvider() async throws -> any ExperimentationProvider {
        try await wire.makeProvider(server)
    }

    /// Changes the vendor's world.
    public func change(to world: World) async throws {
        let gaps = try await wire.load(vendor, world)
        found.withLock { $0 = gaps }
        guard world.isKillSwitchOn else { return }
        guard let setKillSwitch = wire.setKillSwitch else {
            found.withLock { $0.append(WorldGap("killSwitch", "\(Vendor.name) has no kill switch")) }
            return
        }
        try await setKillSwitch(vendor, true)
    }

    /// Appends faults to the mock's script.
    public func inject(_ faults: [WorldFault]) async throws {
        for fault in faults { server.addFault(try scripted(fault)) }
    }

    /// Removes the pending faults.
    public func clearFaults() async throws { server.setScript([]) }

    /// Turns the vendor's kill switch on or off.
    public func setKillSwitch(_ isOn: Bool) async throws {
        guard let setKillSwitch = wire.setKillSwitch else {
            throw SubjectError.unsupported("\(Vendor.name) has no kill switch")
        }
        try await setKillSwitch(vendor, isOn)
    }

    /// Takes the vendor off the network, or restores it on the same port.
    public func setReachable(_ isReachable: Bool) async throws {
        if isReachable { try await server.start() } else { await server.stop() }
    }

    /// Makes the server answer with the delay of this distance.
    public func setRoundTrip(_ duration: Duration) async -> Bool {
        server.setRoundTrip(duration)
        return true
    }

    /// The events that the vendor accepted.
    public func received() async throws -> [Received] { try await wire.received(vendor, server.journal) }

    /// The events accepted since the last call, if the mock can forget them.
    public func takeReceived() async throws -> [Received]? {
        guard let take = wire.takeReceived else { return nil }
        let taken = try await take(vendor, server.journal)
        server.forgetAnswered()
        return taken
    }

    /// Every exchange, taken from the journal.
    public func exchanges() async throws -> [Exchange] { try await exchanges(from: 0) }

    /// The number of exchanges so far.
    public func exchangeCount() async throws -> Int { server.journalCount }

    /// The exchanges from an index on.
    public func exchanges(from index: Int) async throws -> [Exchange] {
        server.journal(from: index).map { entry in
            Exchange(
                number: entry.number,
                purpose: purpose(of: entry.operation),
                operation: entry.operation,
                method: entry.request.method,
                path: redacted(entry.request.path + (entry.request.query.map { "?" + $0 } ?? "")),
                status: entry.fault.flatMap(Self.status) ?? entry.response?.status,
                bytesIn: entry.bytesIn,
                bytesOut: entry.bytesOut,
                connection: entry.connection,
                fault: entry.fault.map(Self.name),
                request: redacted(Self.text(entry.request.headers, entry.request.body)),
                response: entry.response.map { redacted(Self.text($0.headers, $0.body)) }
            )
        }
    }

    /// Stops the server.
    public func close() async { await server.stop() }

    // MARK: Faults

    private func scripted(_ fault: WorldFault) throws -> ScriptedFault {
        var operation: String?
        if fault.operation != .any {
            guard let names = wire.operations[fault.operation], !names.isEmpty else {
                throw SubjectError.unsupported("\(Vendor.name) has no \(fault.operation.rawValue) to fail")
            }
            operation = names.joined(separator: "|")
        }
        let kind: Fault =
            switch fault.kind {
            case .status(let status, let retryAfter): .status(status, retryAfter: retryAfter.map { String($0) })
            case .delay(let milliseconds): .delay(milliseconds: milliseconds)
            case .stall: .stall
            case .reset: .reset
            case .resetAfterApplying: .resetAfterApplying
            case .truncate: .truncate(after: 1)
            case .garbage: .body("\u{1}\u{2}<{[garbage", contentType: wire.contentType)
            case .redirect: .redirect(status: 302, to: server.url + "/_mock/requests")
            case .html200:
                .body(
                    "<!DOCTYPE html><html><body>Please log in to this network</body></html>",
                    contentType: "text/html"
                )
            case .vendorFailure200: .body(try failure(), contentType: wire.contentType)
            case .wrongLength: .wrongLength(by: 100)
            case .oversized: .compressedBomb(bytes: 64 << 20)
            }
        return ScriptedFault(
            kind,
            on: operation,
            after: fault.after,
            times: fault.times,
            containing: fault.containing
        )
    }

    private func failure() throws -> String {
        guard let failure = wire.failure else {
            throw SubjectError.unsupported("\(Vendor.name) doesn't answer 200 to say that a request failed")
        }
        return failure
    }

    // MARK: Telling

    private func purpose(of operation: String) -> WorldFault.Operation {
        // The order matters, because exposures may also be events.
        let order: [WorldFault.Operation] = [.decisions, .events, .exposures, .identity, .authentication]
        return order.first { wire.operations[$0]?.contains(operation) ?? false } ?? .any
    }

    private func redacted(_ text: String) -> String {
        wire.secrets.reduce(text) { text, secret in
            secret.isEmpty ? text : text.replacing(secret, with: "<secret>")
        }
    }

    private static func text(_ headers: [MockRequest.Header], _ body: [UInt8]) -> String {
        let head = headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
        let most = body.prefix(20_000)
        let rest = body.count > most.count ? "\n… \(body.count - most.count) bytes more" : ""
        return head + "\n\n" + String(decoding: most, as: UTF8.self) + rest
    }

    private static func status(_ fault: Fault) -> Int? {
        switch fault {
        case .status(let status, _, _, _), .redirect(let status, _): status
        case .body: 200
        default: nil
        }
    }

    private static func name(_ fault: Fault) -> String {
        switch fault {
        case .status(let status, _, _, _): "status \(status)"
        case .delay(let milliseconds): "delay of \(milliseconds) ms"
        case .stall: "stall"
        case .reset: "reset"
        case .resetAfterApplying: "reset after applying"
        case .truncate: "truncated body"
        case .wrongLength: "wrong length"
        case .garbage: "garbage"
        case .redirect: "redirect"
        case .drip: "drip"
        case .compressedBomb: "compressed bomb"
        case .body: "another body"
        }
    }
}
