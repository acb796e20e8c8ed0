import Experimentation

/// A whole SDK in another process, with its own cache and outbox, stored wherever it likes.
///
/// The framework's client isn't involved. Stored state belongs to a named device: an SDK that is started for the same
/// device again, after a stop or a kill, finds the earlier one's state.
public struct RemoteSDK: Sendable {
    private let stage: RemoteStage
    private let id: String
    private let time: SuiteTime

    /// Starts the SDK on a device, for a user.
    ///
    /// - Throws: ``DocumentError`` for an invalid answer, and the other process's errors.
    static func start(
        on stage: RemoteStage,
        _ device: String,
        _ user: User,
        _ time: SuiteTime
    ) async throws -> RemoteSDK {
        try await stage.call(
            "sdk.start",
            ["device": .string(device), "user": user.document, "now": .string(time.now.iso8601Milliseconds)]
        ) { reader in RemoteSDK(stage: stage, id: try reader.name("sdk"), time: time) }
    }

    /// The result of reading a flag.
    public struct Reading: Sendable, Hashable {
        /// The value, or the default.
        public var value: FlagValue
        /// The reason for the value.
        public var reason: Reason?
        /// What went wrong.
        public var error: ErrorCode?
    }

    /// Makes the SDK ask the vendor for decisions.
    ///
    /// - Returns: The code of the error that an application gets, if any.
    public func refresh() async throws -> ErrorCode? {
        do {
            try await order("sdk.refresh")
            return nil
        } catch let error as ExperimentationError {
            return error.code
        }
    }

    /// Reads a flag, by the call for the type of its default.
    public func read(_ flag: String, default fallback: FlagValue) async throws -> Reading {
        // JSON doesn't distinguish 1.0 from 1.
        let type = World.FlagType(of: fallback) ?? .object
        return try await call(
            "sdk.read",
            ["flag": .string(flag), "type": .string(type.rawValue), "default": fallback]
        ) { reader in
            Reading(
                value: reader.value("value"),
                reason: try reader.optionalString("reason").map { Reason(rawValue: $0) },
                error: try reader.optionalString("error").map { ErrorCode(rawValue: $0) }
            )
        }
    }

    /// The user's places in experiments.
    public func places() async throws -> [Assignment] {
        try await call("sdk.places") { reader in
            try reader.each("assignments") { (reader) throws(DocumentError) in try Assignment(reading: &reader) }
        }
    }

    /// Tracks an event; it is accepted when this returns.
    public func track(_ event: TrackingEvent) async throws {
        try await order("sdk.track", ["event": try RemoteProvider.document(of: event)])
    }

    /// Sets the user's consent.
    public func setConsent(_ consent: Consent) async throws {
        try await order("sdk.consent", ["consent": .string(consent.rawValue)])
    }

    /// Delivers waiting events.
    ///
    /// - Parameter seconds: How long it may take.
    /// - Returns: Whether nothing waits any more.
    /// - Throws: The other process's error, or the reason that it doesn't answer.
    @discardableResult
    public func flush(within seconds: Int = 5) async throws -> Bool {
        try await call("sdk.flush", ["deadline": .int(seconds)]) { reader in
            try reader.bool("done", default: false)
        }
    }

    /// Its ledger.
    public func ledger() async throws -> Ledger {
        try await call("sdk.ledger") { reader in
            var dropped: [Ledger.DropReason: Int] = [:]
            for (reason, count) in try reader.object("dropped") {
                guard let count = count.intValue, Self.counts.contains(count) else {
                    let limit = "from \(Self.counts.lowerBound) to \(Self.counts.upperBound)"
                    throw reader.wrong("dropped", expected: "a whole number \(limit) for each reason")
                }
                dropped[Ledger.DropReason(rawValue: reason)] = count
            }
            return Ledger(
                accepted: try reader.int("accepted", in: Self.counts),
                delivered: try reader.int("delivered", in: Self.counts),
                pending: try reader.int("pending", in: Self.counts),
                purged: try reader.optionalInt("purged", in: Self.counts) ?? 0,
                dropped: dropped
            )
        }
    }

    /// The range of a ledger's counts, so that no sum of a service's numbers overflows.
    private static let counts = 0...1 << 32

    /// Ends it gracefully.
    public func stop() async throws { try await order("sdk.stop") }

    /// Ends it as the system would: without notice, and for good.
    public func kill() async throws { try await order("sdk.kill") }

    private func order(_ command: String, _ parameters: [String: FlagValue] = [:]) async throws {
        try await call(command, parameters) { _ in }
    }

    private func call<Result>(
        _ command: String,
        _ parameters: [String: FlagValue] = [:],
        _ read: (inout DocumentReader) throws -> Result
    ) async throws -> Result {
        var members = parameters
        members["sdk"] = .string(id)
        members["now"] = .string(time.now.iso8601Milliseconds)
        return try await stage.call(command, members, read)
    }
}

extension Probe {
    /// Starts the whole SDK that the subject hands over.
    ///
    /// - Parameters:
    ///   - device: The device whose stored state it has; the same name is the same device after a restart.
    ///   - user: The user of the device.
    /// - Returns: The SDK.
    /// - Throws: ``CaseDoesNotApply`` for a subject that hands over only a role.
    public func sdk(on device: String = "phone", for user: User = .ada) async throws -> RemoteSDK {
        let opened = (stage as? UnexcusedStage)?.inner ?? stage
        guard let stage = opened as? RemoteStage, stage.subject.isWholeSDK else {
            throw CaseDoesNotApply("\(subject.name) hands over a role; the client's cache and outbox are the suite's")
        }
        note("start the SDK on \(device) for \(user.id)")
        return try await RemoteSDK.start(on: stage, device, user, time)
    }

    /// Starts the SDK and makes it ask for decisions.
    public func readySDK(on device: String = "phone", for user: User = .ada) async throws -> RemoteSDK {
        let sdk = try await sdk(on: device, for: user)
        expect(try await sdk.refresh() == nil, "the first refresh of \(user.id) succeeds")
        return sdk
    }
}
