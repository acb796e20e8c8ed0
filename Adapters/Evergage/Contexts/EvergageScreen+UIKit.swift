#if canImport(UIKit)
    import Foundation
    import UIKit

    extension UIViewController {
        /// The screen of this view controller in ``Evergage/shared``, created at the first access.
        ///
        /// It appears and disappears with the view controller, by means of an invisible child; methods aren't swizzled.
        /// Its events carry a name only if you set ``EvergageScreen/evergageName``.
        ///
        /// It is `nil` without a shared instance, while the vendor's kill switch is on, and in UIKit's own containers,
        /// where a child would be one more tab, page or column: use the screens of the container's children. Not tested
        /// on Linux.
        public var evergageScreen: EvergageScreen? {
            guard let shared = Evergage.shared, !shared.isDisabled, !showsItsChildren else { return nil }
            if let child = children.lazy.compactMap({ $0 as? EvergageAppearanceObserver }).first { return child.screen }
            guard let screen = shared.makeScreen() else { return nil }
            let child = EvergageAppearanceObserver(screen)
            addChild(child)
            child.view.isHidden = true
            child.view.isUserInteractionEnabled = false
            view.addSubview(child.view)
            child.didMove(toParent: self)
            return screen
        }

        /// Whether this controller shows its children as parts of its own, such as tabs.
        private var showsItsChildren: Bool {
            self is UITabBarController || self is UINavigationController || self is UISplitViewController
                || self is UIPageViewController
        }
    }

    /// Notifies a screen when its parent appears and disappears.
    private final class EvergageAppearanceObserver: UIViewController {
        let screen: EvergageScreen

        init(_ screen: EvergageScreen) {
            self.screen = screen
            super.init(nibName: nil, bundle: nil)
        }

        @available(*, unavailable)
        required init?(coder: NSCoder) { nil }

        override func viewDidAppear(_ animated: Bool) {
            super.viewDidAppear(animated)
            screen.didAppear()
        }

        override func viewWillDisappear(_ animated: Bool) {
            super.viewWillDisappear(animated)
            screen.willDisappear()
        }
    }
#endif
