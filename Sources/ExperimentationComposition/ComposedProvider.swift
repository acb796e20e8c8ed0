import Experimentation

/// Several vendors as one: decisions from here, events to there.
///
/// ```swift
/// let provider = try ComposedProvider(
///     [ComposedProvider.Vendor(deciding), .init(counting), .init(FileProvider(configuration: file))],
///     decisions: .from("deciding"),
///     events: ["purchase": ["counting", "file"], "*": ["file"]]
/// )
/// let client = try await ExperimentationClient(provider: provider)
/// ```
///
/// Each vendor keeps what is its own: its account in the store, its order, its attempts, its ledger, its kill switch. Who
/// answered stands in a flag's metadata under ``providerKey``.
public struct ComposedProvider: ExperimentationProvider {
    /// One of the vendors, under the name by which tables and metadata know it.
    public struct Vendor: Sendable {
        /// The name; the provider's own unless another is given, as two accounts of one vendor need.
        public let name: String
        /// The vendor.
        public let provider: any ExperimentationProvider

        /// Names a vendor.
        public init(_ provider: any ExperimentationProvider, as name: String? = nil) {
            self.name = name ?? provider.name
            self.provider = provider
        }
    }

    /// Under what metadata of flags and assignments say which vendor answered.
    public static let providerKey = Answerer.key

    /// The composition's name; `composed` unless another was given.
    public let name: String
    /// The vendors, in the order in which they are asked where nothing else is said.
    public let vendors: [Vendor]
    /// Who decides what.
    public let decisions: DecisionTable
    /// Which events go where.
    public let events: EventTable
    /// How exposures are told to a vendor that has no experiments.
    public let exposures: ExposureEvent

    /// Composes vendors; nothing is sent before a client starts them.
    ///
    /// - Parameters:
    ///   - vendors: The vendors, each under a name of its own.
    ///   - decisions: Who decides what; all who can, in their order, unless something else is said.
    ///   - events: Which events go where; everything to everyone who takes it unless something else is said.
    ///   - exposures: How exposures are told to a vendor that has no experiments.
    ///   - name: The composition's name.
    /// - Throws: `ErrorCode.configuration`, naming the row that is wrong.
    public init(
        _ vendors: [Vendor],
        decisions: DecisionTable = DecisionTable(),
        events: EventTable = EventTable(),
        exposures: ExposureEvent = ExposureEvent(),
        name: String = "composed"
    ) throws(ExperimentationError) {
        self.vendors = vendors
        self.decisions = decisions
        self.events = events
        self.exposures = exposures
        self.name = name
        try validate()
    }

    /// Those of the vendors whose decisions may count.
    private var deciding: [Vendor] {
        let named = decisions.vendors
        return vendors.filter { $0.provider.capabilities.contains(.flags) && (named?.contains($0.name) ?? true) }
    }

    /// The accounts of the vendors that decide: what is kept of decisions belongs to these.
    public var scope: String { deciding.map { "\($0.name)=\($0.provider.destination.account)" }.joined(separator: " ") }

    /// The account of the vendor that decides, if there is just one: what a client of it alone has kept stays of use.
    public var destination: Destination {
        let deciding = deciding
        return deciding.count == 1 ? deciding[0].provider.destination : Destination(provider: name, scope: scope)
    }

    /// What follows from the vendors: of decisions what those can who decide, of events what those can who take them.
    public var capabilities: Set<Capability> {
        Capability.composed(
            deciding: deciding.map(\.provider.capabilities),
            all: vendors.map(\.provider.capabilities)
        )
    }

    private func validate() throws(ExperimentationError) {
        if vendors.isEmpty { throw .composition("vendors", "a composition needs a vendor") }
        let names = vendors.map(\.name)
        var accounts: [Destination: String] = [:]
        for (index, vendor) in vendors.enumerated() {
            if vendor.name.isEmpty { throw .composition("vendors", "a vendor needs a name") }
            if names.firstIndex(of: vendor.name) != index {
                throw .composition("vendors.\(vendor.name)", "two vendors have this name")
            }
            if let other = accounts.updateValue(vendor.name, forKey: vendor.provider.destination) {
                throw .composition("vendors.\(vendor.name)", "this is the same account as \"\(other)\"")
            }
        }
        try decisions.validate(among: names)
        try events.validate(among: names)
        try exposures.validate()
    }

    /// Starts every vendor and puts their roles together.
    ///
    /// - Throws: ``ErrorCode/configuration`` when a vendor's setting can't work, or when a row leads to a vendor that has
    ///   nothing for it.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var started: [Part] = []
        let board = SwitchBoard()
        do throws(ExperimentationError) {
            for vendor in vendors {
                let own = context.context(of: vendor.provider)
                let roles: ProviderRoles
                do throws(ExperimentationError) { roles = try await vendor.provider.start(in: own) } catch {
                    throw error.of(vendor.name)
                }
                let killSwitch = await PartSwitch(in: own, board)
                started.append(
                    Part(
                        name: vendor.name,
                        destination: vendor.provider.destination,
                        context: own,
                        roles: roles,
                        killSwitch: killSwitch
                    )
                )
            }
            try check(started)
        } catch {
            for part in started { await part.roles.stop(context.environment.time.instant) }
            throw error
        }
        return ProviderRoles(of: Parts(started, decisions, board), events, exposures, in: context)
    }
}
