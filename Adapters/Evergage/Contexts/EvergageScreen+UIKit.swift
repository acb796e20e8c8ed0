#if canImport(UIKit)
    import Foundation
    import UIKit

    extension UIViewController {
        /// The screen of this view controller in ``Evergage/shared``, created at the first access.
        ///
        /// It appears and disappears with the view controller, by way of an invisible child; methods aren't swizzled.
        /// Its events carry a name only if you set ``EvergageScreen/evergageName``.
        /// `nil` without a shared instance, while the vendor's kill switch is on, and in a container of UIKit's own, where
        /// a child would be one more tab, page or column: use the screens of its children. Not tested on Linux.
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

        /// Whether any child is shown as one of this controller's own parts.
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
