import Experimentation

/// A context that appears and disappears with a part of the interface.
///
/// Call ``didAppear()`` and ``willDisappear()``. Set its handlers and its view just before it appears. When it
/// disappears, its handlers and held campaigns are removed, and answers to its events come too late; the same happens
/// if it hasn't appeared half a minute after its last handler was set, so that a handler that holds its screen doesn't
/// keep it alive. What is viewed stays.
@MainActor
public final class EvergageScreen: EvergageContext {
    /// The name that this screen's events carry; best set before it appears.
    public var evergageName: String?

    /// Whether it is visible.
    public private(set) var isVisible = false

    private let number: Int
    private var epoch = 0
    private var deadline: ContinuousClock.Instant?

    init(owner: Evergage, number: Int, name: String?) {
        self.number = number
        evergageName = name
        super.init(owner: owner, surface: Self.surface(number, 0))
    }

    // Each time it is visible it has a new surface, so that answers to an earlier one find no handler.
    private static func surface(_ number: Int, _ epoch: Int) -> String {
        "\(EvergageSurfaces.prefix)\(number).\(epoch)"
    }

    override var pageType: String? { evergageName }
    override var canBeSeen: Bool { isVisible }

    /// Call when this screen has become visible.
    public func didAppear() {
        guard !isVisible, let owner else { return }
        owner.catchUp()
        isVisible = true
        deadline = nil
        owner.touched()
        refresh(at: owner.environment.time.instant)
        owner.setAlarm()
    }

    /// Call when this screen is about to disappear.
    public func willDisappear() {
        guard isVisible, let owner else { return }
        owner.catchUp()
        isVisible = false
        refresh(at: owner.environment.time.instant)
        beginAnew()
        owner.setAlarm()
    }

    /// Removes all handlers, and drops campaigns that haven't arrived yet.
    private func beginAnew() {
        forgetHandlers()
        if let surface { owner?.closeSurface(surface) }
        epoch += 1
        viewing.surface = Self.surface(number, epoch)
        attach()
    }

    override func attach() {
        if let surface { owner?.openSurface(surface) }
        super.attach()
    }

    override func handlersChanged() {
        guard !isVisible, let owner else { return }
        deadline = owner.environment.time.instant.advanced(by: owner.remote.screenVisibleDeadline)
    }

    override var nextMoment: ContinuousClock.Instant? {
        [super.nextMoment, deadline].compactMap { $0 }.min()
    }

    override func catchUp(at now: ContinuousClock.Instant) {
        super.catchUp(at: now)
        guard let deadline, deadline <= now else { return }
        self.deadline = nil
        beginAnew()
    }
}

extension Evergage {
    func openSurface(_ surface: String) { events?.surfaces.open(surface: surface) }

    func closeSurface(_ surface: String) {
        events?.surfaces.close(surface: surface)
        session?.closeSurface(surface)
    }
}
