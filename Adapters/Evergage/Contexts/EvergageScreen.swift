import Experimentation

/// A context that appears and disappears with a part of the interface.
///
/// Call ``didAppear()`` and ``willDisappear()``. Set its handlers and its view just before it appears. When it
/// disappears, its handlers and held campaigns are removed, and answers to its events come too late. The same happens
/// if it hasn't appeared half a minute after its last handler was set, so that a handler that holds its screen doesn't
/// keep it alive. The current view stays.
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

    // A screen has a new surface each time it is visible, so that answers for an earlier one find no handler.
    private static func surface(_ number: Int, _ epoch: Int) -> String {
        "evergage.screen.\(number).\(epoch)"
    }

    override var pageType: String? { evergageName }
    override var canBeSeen: Bool { isVisible }

    /// Call when this screen has become visible.
    public func didAppear() {
        guard !isVisible, let owner else { return }
        owner.act { now in
            isVisible = true
            deadline = nil
            owner.touched()
            refresh(at: now)
        }
    }

    /// Call when this screen is about to disappear.
    public func willDisappear() {
        guard isVisible, let owner else { return }
        owner.act { now in
            isVisible = false
            refresh(at: now)
            beginAnew()
        }
    }

    /// Removes all handlers, and drops campaigns that haven't arrived yet.
    private func beginAnew() {
        handlers = [:]
        if let surface { owner?.session?.closeSurface(surface) }
        epoch += 1
        viewing.surface = Self.surface(number, epoch)
        attach()
    }

    override func handlersChanged(at now: ContinuousClock.Instant) {
        if !isVisible, let owner { deadline = now.advanced(by: owner.remote.screenVisibleDeadline) }
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
