import Experimentation

extension Probe {
    /// The events of some types that the vendor accepted; without types, all but identity and consent signals and
    /// unknown ones.
    public func received(_ types: String...) async throws -> [Received] {
        try await stage.received().filter { received in
            types.isEmpty
                ? !["identity", "consentChanged", "unknown"].contains(received.type) : types.contains(received.type)
        }
    }

    /// The exposures that the vendor accepted.
    public func exposures() async throws -> [Received] { try await received("exposure") }

    /// The exchanges so far with a purpose; all if it is `nil`.
    public func exchanges(_ purpose: WorldFault.Operation? = nil) async throws -> [Exchange] {
        try await stage.exchanges().filter { purpose == nil || $0.purpose == purpose }
    }

    /// Adds faults to the vendor's script.
    public func inject(_ faults: WorldFault...) async throws {
        for fault in faults { note("from now on: \(fault)") }
        try await stage.play(faults, of: subject)
    }

    /// Changes the vendor's world.
    public func change(_ change: (inout World) -> Void) async throws {
        note("the world is changed at the vendor's console")
        try await stage.change(to: world.changing(change))
    }

    /// Takes the vendor off the network or restores it.
    public func setReachable(_ isReachable: Bool) async throws {
        note(isReachable ? "the vendor is back" : "the vendor goes away")
        try await stage.setReachable(isReachable)
    }

    /// Turns the vendor's kill switch on or off.
    public func setKillSwitch(_ isOn: Bool) async throws {
        note(isOn ? "the vendor's kill switch is turned on" : "the vendor's kill switch is turned off")
        try await stage.setKillSwitch(isOn)
    }

    /// Pushes time forward.
    public func push(_ duration: Duration) {
        note("\(duration) pass")
        time.push(by: duration)
    }
}
