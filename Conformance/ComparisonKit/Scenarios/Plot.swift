import ConformanceKit
import Experimentation

/// The preconditions of a scenario's steps; pure.
struct Plot {
    private let world: World
    private var userID: String?
    private var isReachable = true
    private var isKillSwitchOn: Bool
    private var events = 0

    init(world: World) {
        self.world = world
        isKillSwitchOn = world.isKillSwitchOn
    }

    /// Applies a step; returns why it contradicts earlier ones, or `nil`.
    mutating func play(_ action: Scenario.Action) -> String? {
        switch action {
        case .arrive(let id):
            guard world.user(id) != nil else { return unknown("user", id, world.users.map(\.id)) }
            userID = id
            return nil
        case .network(let reachable):
            guard reachable != isReachable else {
                return reachable ? "the vendor isn't away here" : "the vendor is away already"
            }
            isReachable = reachable
            return nil
        case .killSwitch(let on):
            guard on != isKillSwitchOn else { return "the kill switch is \(on ? "on" : "off") already" }
            isKillSwitchOn = on
            return nil
        case .fault(let faults): return contradiction(in: faults)
        case .wait: return nil
        default: break
        }
        guard userID != nil else { return "no user has arrived yet; expected a step with \"arrive\" before it" }
        switch action {
        case .read(let key, let fallback): return mismatch(key, fallback)
        case .see(let id):
            return world.experiment(id) == nil ? unknown("experiment", id, world.experiments.map(\.id)) : nil
        case .track(let tracked, let times):
            events += tracked.count * times
            return events > Scenario.mostEvents ? "expected at most \(Scenario.mostEvents) events in all" : nil
        case .logIn(let user):
            guard user.id != userID else { return "\"\(user.id)\" has arrived by that id already" }
            userID = user.id
            return nil
        default: return nil
        }
    }

    private func contradiction(in faults: [WorldFault]) -> String? {
        guard !faults.isEmpty else { return "expected at least one fault" }
        guard isReachable else { return "the vendor is away here, so no request could meet this fault" }
        for (index, fault) in faults.enumerated() {
            if fault.times == 0 { return "a fault that happens 0 times is none; expected \"times\" from 1" }
            let earlier = faults[..<index].first { other in
                (other.operation == fault.operation || other.operation == .any) && other.after <= fault.after
                    && other.times == nil
            }
            if let earlier {
                return "the fault \"\(fault)\" could never happen after \"\(earlier)\""
            }
        }
        return nil
    }

    private func mismatch(_ key: String, _ fallback: FlagValue) -> String? {
        guard let flag = world.flag(key) else { return unknown("flag", key, world.flags.map(\.key)) }
        guard let type = World.FlagType(of: fallback) else { return "expected a \"default\" that isn't null" }
        let fits = type == flag.type || (type == .int && flag.type == .double)
        return fits
            ? nil : "expected a \"default\" of type \(flag.type.rawValue), as the flag has; found \(type.rawValue)"
    }

    private func unknown(_ what: String, _ name: String, _ known: [String]) -> String {
        let names = known.isEmpty ? "it has none" : "it has " + known.joined(separator: ", ")
        return "the world has no \(what) \"\(name)\"; \(names)"
    }
}
