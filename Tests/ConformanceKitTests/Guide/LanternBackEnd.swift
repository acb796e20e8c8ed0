import ConformanceKit
import Experimentation
import Foundation

/// Lantern's side: holds flags, takes events, and can be away or fail.
actor LanternBackEnd {
    /// An event in Lantern's words.
    struct Event: Sendable {
        var who: Identity
        var what: String
        var amount: Double?
        var with: [String: FlagValue]
        var when: Date

        init(_ envelope: Envelope) {
            who = envelope.identity
            if case .custom(let name, let value) = envelope.event.kind {
                what = name
                amount = value
            } else {
                what = ""
            }
            with = envelope.event.attributes.values
            when = envelope.date
        }
    }

    /// What Lantern's callers run into.
    enum Trouble: Error {
        /// There is no answer, or an incomplete one.
        case noAnswer
        /// Lantern answers with a status, and perhaps with how many seconds to wait.
        case status(Int, retryAfter: Int?)
        /// The answer makes no sense.
        case nonsense
    }

    private let time = ClientEnvironment().time
    private var world: World
    private var isReachable = true
    private var faults: [WorldFault] = []
    private(set) var events: [Event] = []
    private(set) var calls: [Exchange] = []

    init(_ world: World) { self.world = world }

    func setWorld(_ world: World) { self.world = world }
    func setReachable(_ isReachable: Bool) { self.isReachable = isReachable }
    func add(_ faults: [WorldFault]) { self.faults += faults }
    func clearFaults() { faults = [] }

    func flags(for attributes: Attributes) async throws(Trouble) -> [(key: String, value: FlagValue)] {
        if let trouble = try await enter(.decisions) { throw trouble }
        return world.flags.filter { $0.experiment == nil && !$0.isDisabled && !$0.isMalformed }.map { flag in
            (flag.key, flag.rules.first { $0.when.allSatisfy { $0.matches(attributes) } }?.value ?? flag.value)
        }
    }

    func take(_ events: [Event]) async throws(Trouble) {
        let trouble = try await enter(.events, holding: events.map { "\($0)" }.joined())
        self.events += events
        if let trouble { throw trouble }
    }

    /// Notes a call and plays its fault.
    ///
    /// - Returns: What befalls the answer of a call that is carried out all the same.
    /// - Throws: What befalls the call before it is carried out.
    private func enter(
        _ call: WorldFault.Operation,
        holding text: String = ""
    ) async throws(Trouble) -> Trouble? {
        guard isReachable else { throw .noAnswer }
        let fault = takeFault(for: call, holding: text)
        calls.append(
            Exchange(
                number: calls.count + 1,
                purpose: call,
                operation: call.rawValue,
                method: "CALL",
                path: "/",
                status: 200,
                fault: fault?.kind.name
            )
        )
        switch fault?.kind {
        case nil: return nil
        case .delay(let milliseconds):
            try? await time.sleep(for: .milliseconds(milliseconds))
            return nil
        case .stall:
            try? await time.sleep(for: .seconds(1))
            throw .noAnswer
        case .status(let status, let retryAfter): throw .status(status, retryAfter: retryAfter)
        case .resetAfterApplying, .truncate, .wrongLength: return .noAnswer
        case .reset, .redirect: throw .noAnswer
        case .garbage, .html200, .vendorFailure200, .oversized: throw .nonsense
        }
    }

    private func takeFault(for call: WorldFault.Operation, holding text: String) -> WorldFault? {
        for index in faults.indices where [.any, call].contains(faults[index].operation) {
            if let mark = faults[index].containing, !text.contains(mark) { continue }
            guard faults[index].after == 0 else {
                faults[index].after -= 1
                continue
            }
            let fault = faults[index]
            if let times = fault.times {
                faults[index].times = times - 1
                if times <= 1 { faults.remove(at: index) }
            }
            return fault
        }
        return nil
    }
}
